"""The conforming torch.compile backend, and what each saboteur of that toolchain breaks in one place.

It runs a graph as Dynamo made it. What it does by itself is little, so that whatever a saboteur changes is all that is
wrong.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance import DynamoBackend, Features, features
from torch_conformance_saboteurs.sabotage_tools import replaced

Code = Callable[..., Any]

#: What stands for a vendor's runtime.
VENDOR = "torch_conformance_saboteurs.vendor_runtime"
RUNS_IN_PYTORCH = Features.all().without(features.delegation, "The graph is run by PyTorch's own operators.")


def vendor_is_there() -> bool:
    """Whether what stands for a vendor's runtime can be imported in this process."""
    try:
        return importlib.util.find_spec(VENDOR) is not None
    except ImportError:
        return False


class DynamoControl(DynamoBackend):
    """The conforming backend. A saboteur overrides :meth:`lower`, or :meth:`call` for what happens at each call."""

    name = "dynamo_control"
    features = RUNS_IN_PYTORCH
    runtime = (VENDOR,)
    #: What aot_compile packages: the name of a class in ``dynamo_packages``.
    package_class = "Package"

    def load(self) -> None:
        """Register the backend in this process, unless that was done before."""
        from torch._dynamo.backends.registry import _COMPILER_FNS

        if self.name in _COMPILER_FNS:
            return

        def compiler(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **keywords: Any) -> Code:
            self.expect_runtime()
            self.take(keywords)
            # As PyTorch's own backends know aot_compile.
            packs = torch._functorch.config.force_autograd_cache
            code: Code = self.package(graph) if packs else self.lower(graph, example_inputs)
            return code

        torch._dynamo.register_backend(compiler, name=self.name)

    def expect_runtime(self) -> None:
        """Import what stands for a vendor's runtime. RuntimeError where it is not there."""
        try:
            importlib.import_module(VENDOR)
        except ImportError as error:
            raise RuntimeError(f"{self.name} needs {VENDOR}: install torch-conformance-saboteurs") from error

    def take(self, keywords: dict[str, Any]) -> None:
        """Look at what ``torch.compile`` was given beside the model; there is nothing that the control knows."""
        if keywords:
            raise ValueError(f"{self.name} has no options and no modes, and was given {keywords}")

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        """The code for a graph."""
        return lambda *arguments: self.call(graph.forward, arguments)

    def package(self, graph: torch.fx.GraphModule) -> Any:
        """The code for a graph, in a form that can be saved."""
        from torch_conformance_saboteurs import dynamo_packages

        return getattr(dynamo_packages, self.package_class)(graph)

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        """One call of the code."""
        return code(*arguments)


def tensors(arguments: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors among the arguments of a graph, parameters and buffers left out where they are marked as such."""
    return [each for each in arguments if isinstance(each, torch.Tensor) and not isinstance(each, torch.nn.Parameter)]


def with_weights_of(first: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """Arguments of a graph with the parameters of its first ones."""
    return [old if isinstance(old, torch.nn.Parameter) else new for old, new in zip(first, arguments, strict=True)]


def changed(result: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A result with each of its tensors changed."""
    return replaced(result, torch.Tensor, change)


def cast(arguments: Sequence[Any], source: torch.dtype, target: torch.dtype) -> list[Any]:
    """Arguments with the tensors of one dtype converted to another."""
    return [each.to(target) if isinstance(each, torch.Tensor) and each.dtype == source else each for each in arguments]
