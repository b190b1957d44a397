"""Saboteurs of torch.compile that change PyTorch itself, for everybody in the process."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("modes.pytorch-unchanged", phases=("inspect",))
class DynamoSetsDynamosConfig(DynamoControl):
    """Loading it lets Dynamo lower for one size only, whatever backend is used."""

    name = "dynamo_sets_dynamos_config"

    def load(self) -> None:
        torch._dynamo.config.automatic_dynamic_shapes = False
        super().load()


@saboteur("modes.pytorch-unchanged", phases=("inspect",))
class DynamoReplacesFunction(DynamoControl):
    """Lowering puts a function of its own in the place of ``torch.nn.functional.gelu``."""

    name = "dynamo_replaces_function"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        setattr(torch.nn.functional, "gelu", _gelu)  # noqa: B010  (mypy takes it for a function)
        return super().lower(graph, example_inputs)


def _gelu(x: Tensor, approximate: str = "tanh") -> Tensor:
    return x * torch.sigmoid(x * 1.702)


@saboteur("modes.pytorch-unchanged", phases=("inspect",))
class DynamoReplacesMethod(DynamoControl):
    """Loading it puts a wrapper in the place of a method of tensors, which keeps its name."""

    name = "dynamo_replaces_method"

    def load(self) -> None:
        inner: Any = torch.Tensor.split

        @functools.wraps(inner)
        def split(self: Tensor, *arguments: Any, **keywords: Any) -> Any:
            return inner(self, *arguments, **keywords)

        setattr(torch.Tensor, "split", split)  # noqa: B010
        super().load()


@saboteur("modes.pytorch-unchanged", phases=("inspect",))
class DynamoOverridesKernel(DynamoControl):
    """Lowering registers a kernel of its own for an operator of PyTorch's on the CPU."""

    name = "dynamo_overrides_kernel"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        self.library = torch.library.Library("aten", "IMPL")
        self.library.impl("hardswish", lambda x: x.clamp(0), "CPU")
        return super().lower(graph, example_inputs)


@saboteur("modes.pytorch-unchanged", phases=("inspect",))
class DynamoRegistersDecomposition(DynamoControl):
    """Loading it has an operator of PyTorch's decomposed for every compiler."""

    name = "dynamo_registers_decomposition"

    def load(self) -> None:
        table: Any = torch._decomp.decomposition_table
        table[torch.ops.aten.relu.default] = lambda x: x.clamp(min=0)
        super().load()


@saboteur("modes.others-unchanged", phases=("inspect",))
class DynamoMakesSizesDynamic(DynamoControl):
    """After it was used every other backend is given graphs with symbolic sizes."""

    name = "dynamo_makes_sizes_dynamic"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        torch._dynamo.config.assume_static_by_default = False
        return super().lower(graph, example_inputs)


@saboteur("modes.others-unchanged", phases=("inspect",))
class DynamoReplacesAotEager(DynamoControl):
    """What PyTorch calls "aot_eager" is from now on a compiler of the backend's own, with bits of its own."""

    name = "dynamo_replaces_aot_eager"

    def load(self) -> None:
        from torch._dynamo.backends.registry import _COMPILER_FNS

        super().load()
        _COMPILER_FNS["aot_eager"] = lambda graph, inputs, **keywords: (
            lambda *each: tuple(result * (1 + 2**-20) for result in graph.forward(*each))
        )


SABOTEURS = saboteur.all()
