"""Saboteurs of torch.compile: gradients, and what they go to, are not those of eager PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from conformance import features
from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.dynamo_control import RUNS_IN_PYTORCH, Code, DynamoControl, cast, changed, tensors
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


class _Scaled(torch.autograd.Function):
    """The identity, whose gradients are too large by a factor."""

    @staticmethod
    def forward(context: Any, tensor: Tensor, factor: float) -> Tensor:
        context.factor = factor
        return tensor.view_as(tensor)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * context.factor, None


def _scaled(tensor: Tensor, factor: float) -> Any:
    return _Scaled.apply(tensor, factor)  # type: ignore[no-untyped-call]


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


@saboteur("training.gradients", "training.steps", "training.backward-again")
class DynamoScalesGradients(DynamoControl):
    """Results are right, and their gradients a hundredth too large."""

    name = "dynamo_scales_gradients"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return changed(result, lambda tensor: _scaled(tensor, 1.01) if tensor.requires_grad else tensor)


@saboteur("training.gradients")
class DynamoForgetsVersions(DynamoControl):
    """What going back needs is kept without its version counter: where it was written to in the meantime nobody is
    told, and the gradients are those of other values."""

    name = "dynamo_forgets_versions"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.detach(), _same_memory):
            return super().call(code, arguments)


def _same_memory(kept: Tensor) -> Tensor:
    return kept.data


@saboteur("training.gradients")
class DynamoRoundsGradients(DynamoControl):
    """The backward pass of float64 has the precision of float32."""

    name = "dynamo_rounds_gradients"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        wide = super().call(code, arguments)
        narrow = super().call(code, cast(arguments, torch.float64, torch.float32))
        if not any(map(_differentiable, wide)):
            return wide
        return tuple(exact.detach() + (rounded - rounded.detach()) for exact, rounded in zip(wide, narrow, strict=True))


@saboteur("training.requires-grad", "training.inner-no-grad")
class DynamoMakesAllRequireGrad(DynamoControl):
    """As soon as one input requires grad, every real output does."""

    name = "dynamo_makes_all_require_grad"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        if not any(map(_differentiable, arguments)) or not torch.is_grad_enabled():
            return result
        return changed(result, lambda tensor: tensor.detach().requires_grad_() if _is_cut_off(tensor) else tensor)


def _is_cut_off(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and not tensor.requires_grad


@saboteur("training.requires-grad")
class DynamoDetachesSecondOutput(DynamoControl):
    """The second of several outputs is cut off from the graph of Autograd."""

    name = "dynamo_detaches_second_output"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        first, *others = super().call(code, arguments)
        return (first, *(each.detach() if index == 0 else each for index, each in enumerate(others)))


@saboteur("training.non-leaf-inputs")
class DynamoCutsNonLeaves(DynamoControl):
    """Gradients end at inputs that are results of a computation."""

    name = "dynamo_cuts_non_leaves"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        cut = [
            each.detach().requires_grad_() if _differentiable(each) and not each.is_leaf else each for each in arguments
        ]
        return super().call(code, cut)


@saboteur("training.inner-no-grad")
class DynamoIgnoresInnerNoGrad(DynamoControl):
    """The parts of a graph that switch grad mode are left out."""

    name = "dynamo_ignores_inner_no_grad"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for node in list(graph.graph.nodes):
            if node.target is torch._C._set_grad_enabled:
                graph.graph.erase_node(node)
        graph.recompile()
        return super().lower(graph, example_inputs)


@saboteur("training.steps")
class DynamoTrainsFirstWeights(DynamoControl):
    """Parameters are read once, at the first call."""

    name = "dynamo_trains_first_weights"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        first: dict[int, Tensor] = {}

        def code(*arguments: Any) -> Any:
            for index, each in enumerate(arguments):
                if isinstance(each, torch.nn.Parameter):
                    first.setdefault(index, each.detach().clone())
            return graph.forward(
                *(
                    each + (first[index] - each).detach() if index in first else each
                    for index, each in enumerate(arguments)
                )
            )

        return code


@saboteur("training.backward-again")
class DynamoFreesItsMemory(DynamoControl):
    """What the backward pass needs is freed by the first of them, whatever the caller has asked for."""

    name = "dynamo_frees_its_memory"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        for each in tensors(result):
            if each.requires_grad:
                each.register_hook(_once())
        return result


def _once() -> Any:
    seen: list[bool] = []

    def hook(gradient: Tensor) -> Tensor:
        seen.append(True)
        return gradient if len(seen) == 1 else torch.zeros_like(gradient)

    return hook


class _FirstOrder(torch.autograd.Function):
    """The identity, whose gradients are constants."""

    @staticmethod
    def forward(context: Any, tensor: Tensor) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient.detach()


def _first_order(tensor: Tensor) -> Any:
    return _FirstOrder.apply(tensor)  # type: ignore[no-untyped-call]


@saboteur("training.double-backward")
class DynamoForgetsSecondOrder(DynamoControl):
    """Gradients are right, and no gradient goes through them on to the inputs."""

    name = "dynamo_forgets_second_order"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return super().call(code, [_first_order(each) if _differentiable(each) else each for each in arguments])


@saboteur("training.dropout")
class DynamoDropsTwice(DynamoControl):
    """What is dropped on the way back is drawn once more."""

    name = "dynamo_drops_twice"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        another = super().call(code, arguments)
        return tuple(
            backward + (forward - backward).detach() for forward, backward in zip(result, another, strict=True)
        )


@saboteur("training.dropout")
class DynamoDropsMore(DynamoControl):
    """A tenth of the elements is dropped beyond what was asked for."""

    name = "dynamo_drops_more"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return changed(super().call(code, arguments), lambda tensor: tensor * (torch.rand_like(tensor) > 0.1))


@saboteur("training.nothing-retained", verdicts=(REPORTED,))
class DynamoKeepsGradients(DynamoControl):
    """The gradients of the last backward pass are kept."""

    name = "dynamo_keeps_gradients"

    def __init__(self) -> None:
        self.kept: list[Tensor] = []

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        if any(each.requires_grad for each in tensors(result)):
            self.keep(list(tensors(arguments)))
        return result

    def keep(self, arguments: list[Tensor]) -> None:
        """Keep the arguments of a call that is gone back from, and their gradients."""
        self.kept = arguments


@saboteur("training.nothing-retained")
class DynamoKeepsEveryGradient(DynamoKeepsGradients):
    """The gradients of every backward pass are kept."""

    name = "dynamo_keeps_every_gradient"

    def keep(self, arguments: list[Tensor]) -> None:
        self.kept += arguments


@saboteur("training.refusal")
class DynamoHidesThatItCannotTrain(DynamoControl):
    """Training is declared missing, and results are cut off from the graph of Autograd without a word."""

    name = "dynamo_hides_that_it_cannot_train"
    features = RUNS_IN_PYTORCH.without(features.training, "no backward pass")

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return changed(super().call(code, arguments), lambda tensor: tensor.detach())


@saboteur("training.refusal")
class DynamoHidesWhereWeightsTrain(DynamoControl):
    """Training is declared missing, and refused for inputs; where only parameters require grad, results are cut off."""

    name = "dynamo_hides_where_weights_train"
    features = RUNS_IN_PYTORCH.without(features.training, "no backward pass")

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if any(map(_differentiable, tensors(example_inputs))):
            raise RuntimeError("there is no backward pass")
        return super().lower(graph, example_inputs)

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return changed(super().call(code, arguments), lambda tensor: tensor.detach())


@saboteur("training.refusal")
class DynamoTrainsInSecret(DynamoControl):
    """Training is declared missing, and works."""

    name = "dynamo_trains_in_secret"
    features = RUNS_IN_PYTORCH.without(features.training, "no backward pass")


SABOTEURS = saboteur.all()
