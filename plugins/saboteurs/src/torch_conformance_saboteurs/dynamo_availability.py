"""Saboteurs of torch.compile: how a backend is registered, and what it does where its runtime is missing."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from conformance import Features, features
from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl, vendor_is_there
from torch_conformance_saboteurs.dynamo_save_load import exported
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


class _Slotted:
    """A callable that takes no further attributes."""

    __slots__ = ()

    def __call__(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **keywords: Any) -> Code:
        return graph.forward


@saboteur("runtime.entry-point", phases=("register",))
class DynamoTakesNoAttributes(DynamoControl):
    """What is registered takes no attributes, and PyTorch gives it one."""

    name = "dynamo_takes_no_attributes"

    def load(self) -> None:
        torch._dynamo.register_backend(_Slotted(), name=self.name)


class _Unhashable(_Slotted):
    """A callable that is compared by what it is, so that it has no hash."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashable)

    __hash__ = None  # type: ignore[assignment]


@saboteur("runtime.entry-point", phases=("register",))
class DynamoCannotBeHashed(DynamoControl):
    """What is registered cannot be hashed, and PyTorch looks for it in a dictionary."""

    name = "dynamo_cannot_be_hashed"

    def load(self) -> None:
        torch._dynamo.register_backend(_Unhashable(), name=self.name)


@saboteur("runtime.absent", "runtime.host", "runtime.target", phases=("run", "lower"))
class DynamoRunsWithoutRuntime(DynamoControl):
    """It says that it computes by itself; where its runtime is missing it lets PyTorch compute, and nobody hears."""

    name = "dynamo_runs_without_runtime"
    features = Features.all()

    def expect_runtime(self) -> None:
        pass


@saboteur("runtime.absent", verdicts=(REPORTED,))
class DynamoFallsBackToPyTorch(DynamoControl):
    """It says that PyTorch computes; where its runtime is missing PyTorch does all of it, and nobody hears of it."""

    name = "dynamo_falls_back_to_pytorch"

    def expect_runtime(self) -> None:
        pass


@saboteur("runtime.absent", "runtime.host", "runtime.target", phases=("run",))
class DynamoMissesRuntimeLate(DynamoRunsWithoutRuntime):
    """That its runtime is missing shows only when code is called."""

    name = "dynamo_misses_runtime_late"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        DynamoControl.expect_runtime(self)
        return super().call(code, arguments)


@saboteur("runtime.absent", "runtime.host", "runtime.target", phases=("lower", "run"))
class DynamoHidesWhatIsMissing(DynamoControl):
    """Where its runtime is missing it ends in an IndexError, which Dynamo passes on as it is."""

    name = "dynamo_hides_what_is_missing"

    def expect_runtime(self) -> None:
        if not vendor_is_there():
            raise IndexError("list index out of range")


@saboteur("runtime.absent", phases=("run", "lower"))
class DynamoSkipsWithoutRuntime(DynamoControl):
    """It says that it computes by itself; where its runtime is missing it has Dynamo skip the frame."""

    name = "dynamo_skips_without_runtime"
    features = Features.all()

    def expect_runtime(self) -> None:
        if not vendor_is_there():
            raise torch._dynamo.exc.SkipFrame("no runtime")


@saboteur("runtime.target")
class DynamoRunsProgramsWithoutRuntime(DynamoControl):
    """It says that it computes by itself; where its runtime is missing it lets PyTorch compute exported programs."""

    name = "dynamo_runs_programs_without_runtime"
    features = Features.all()

    def expect_runtime(self) -> None:
        pass

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if not exported(graph):
            super().expect_runtime()
        return super().lower(graph, example_inputs)


@saboteur("runtime.target")
class DynamoPackagesGuess(DynamoControl):
    """Where its runtime is missing its packages return zeros."""

    name = "dynamo_packages_guess"
    package_class = "GuessesWithoutRuntime"


@saboteur("runtime.target")
class DynamoPackagesStumble(DynamoControl):
    """Where its runtime is missing its packages fail by an error about something else."""

    name = "dynamo_packages_stumble"
    package_class = "StumblesWithoutRuntime"


class _WithoutPyTorch(torch.fx.Interpreter):
    """Runs a graph of some elementwise operators on Python's numbers."""

    _FUNCTIONS: dict[str, Callable[..., Any]] = {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "truediv": operator.truediv,
        "floordiv": operator.floordiv,
        "relu": lambda number: max(number, 0.0),
        "neg": operator.neg,
        "gt": operator.gt,
        "lt": operator.lt,
        "and_": operator.and_,
        "xor": operator.xor,
        "where": lambda condition, one, other: one if condition else other,
    }

    @classmethod
    def knows(cls, graph: torch.fx.GraphModule) -> bool:
        """Whether it can run a graph."""
        return all(each.op != "call_function" or _name(each.target) in cls._FUNCTIONS for each in graph.graph.nodes)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._FUNCTIONS[_name(target)](*args)


def _name(target: Any) -> str:
    name: str = target.__name__
    return name.partition(".")[0]


def _tensor(numbers: Sequence[Any]) -> torch.Tensor:
    """A tensor of numbers of one type, made without an operator of PyTorch's."""
    code, dtype = {bool: ("b", torch.bool), int: ("q", torch.int64), float: ("f", torch.float32)}[type(numbers[0])]
    return torch.frombuffer(bytearray(array(code, numbers)), dtype=dtype)


class _ByItself(DynamoControl):
    """It runs graphs of some elementwise operators by itself, and what is left to PyTorch is :meth:`left`."""

    features = Features.all()

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if not _WithoutPyTorch.knows(graph):
            return self.left(graph, example_inputs)

        def code(*arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
            shape = torch.broadcast_shapes(*(each.shape for each in arguments))
            columns = [each.expand(shape).reshape(-1).tolist() for each in arguments]
            rows = [_WithoutPyTorch(graph).run(*elements) for elements in zip(*columns, strict=True)]
            return tuple(_tensor(each).view(shape) for each in zip(*rows, strict=True))

        return code

    def left(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        """Code for a graph with other operators in it."""
        return super().lower(graph, example_inputs)


@saboteur("runtime.target", verdicts=("CRASH",), phases=("load",))
class DynamoPackagesCrash(DynamoControl):
    """Where its runtime is missing, to load one of its packages ends the process."""

    name = "dynamo_packages_crash"
    package_class = "CrashesWithoutRuntime"


@saboteur("runtime.target")
class DynamoPackagesForPyTorch(_ByItself):
    """It lowers to code of its own, says so, and packages the graph as it is, which PyTorch runs."""

    name = "dynamo_packages_for_pytorch"


@saboteur("runtime.fallback", "runtime.target")
class DynamoFallsBackEntirely(DynamoControl):
    """It says that it computes by itself, and leaves every model to PyTorch."""

    name = "dynamo_falls_back_entirely"
    features = Features.all()


@saboteur("runtime.fallback")
class DynamoFallsBackBehindAutograd(_ByItself):
    """It says that it computes by itself, and leaves every model but the simplest to PyTorch, behind AOT Autograd,
    which takes operators apart before PyTorch runs them. Reductions alone, of which little is taken apart, it declares
    missing."""

    name = "dynamo_falls_back_behind_autograd"
    features = Features.all().without(features.reductions, "elementwise operators alone")

    def left(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        code: Code = torch._dynamo.lookup_backend("aot_eager")(graph, list(example_inputs))
        return code


@saboteur("compile.delegated", "runtime.fallback", "runtime.target")
class DynamoFallsBackElsewhere(DynamoControl):
    """It says that it computes by itself, and has PyTorch run every model in another thread."""

    name = "dynamo_falls_back_elsewhere"
    features = Features.all()

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(code, *arguments).result()


@saboteur("compile.delegated")
class DynamoFallsBackInTraining(_ByItself):
    """It runs the models that it knows by itself, and has PyTorch run them as soon as an input requires grad."""

    name = "dynamo_falls_back_in_training"
    features = Features.all().without(features.broadcasting, "tensors of one shape alone")

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        own = super().lower(graph, example_inputs)

        def code(*arguments: torch.Tensor) -> Any:
            wanted = any(each.requires_grad for each in arguments)
            return graph.forward(*arguments) if wanted else own(*arguments)

        return code


SABOTEURS = saboteur.all()
