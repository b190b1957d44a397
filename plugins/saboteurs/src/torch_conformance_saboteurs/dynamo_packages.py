"""What ``aot_compile`` packages for the saboteurs of torch.compile, and for their control.

Apart from these, because torch._dynamo takes seconds to import, and is only there where something is compiled.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import torch
from torch._dynamo.aot_compile import AOTCompiledFunction
from torch._dynamo.aot_compile_types import GraphModuleSerializableCallable
from torch.fx.experimental.proxy_tensor import make_fx

from torch_conformance_saboteurs.dynamo_control import vendor_is_there, with_weights_of


class Package(GraphModuleSerializableCallable):
    """The graph as it is."""


class SwapsArguments(Package):
    """A package that gives two arguments of one shape the other way round."""

    def __call__(self, *arguments: Any) -> Any:
        *others, one, other = arguments
        alike = isinstance(one, torch.Tensor) and one.shape == other.shape
        return super().__call__(*others, other, one) if alike else super().__call__(*arguments)


class CompilesAgain(Package):
    """A package of a graph that was not compiled."""

    def __call__(self, *arguments: Any) -> Any:
        return make_fx(self.graph_module.forward)(*arguments)(*arguments)


class CompilesWhenLoaded(Package):
    """A package that compiles at once what it loads."""

    @classmethod
    def deserialize_compile_artifacts(cls, data: bytes) -> Any:
        loaded = super().deserialize_compile_artifacts(data)
        torch.fx.symbolic_trace(loaded.graph_module)
        return loaded


class KeepsWeights(Package):
    """A package that keeps the weights of its first call."""

    def __call__(self, *arguments: Any) -> Any:
        kept = self.__dict__.setdefault("kept", arguments)
        return super().__call__(*with_weights_of(kept, arguments))


class ChecksNothing(Package):
    """A package that spares itself the guards."""

    @classmethod
    def deserialize_compile_artifacts(cls, data: bytes) -> Any:
        AOTCompiledFunction.guard_check = lambda *arguments, **keywords: True  # type: ignore[method-assign]
        return super().deserialize_compile_artifacts(data)


class GuessesWithoutRuntime(Package):
    """A package that returns zeros where the vendor's runtime is missing."""

    def __call__(self, *arguments: Any) -> Any:
        results = super().__call__(*arguments)
        return results if vendor_is_there() else tuple(torch.zeros_like(each) for each in results)


class StumblesWithoutRuntime(Package):
    """A package that takes what it did not find for the vendor's runtime."""

    def __call__(self, *arguments: Any) -> Any:
        if not vendor_is_there():
            raise AttributeError("'NoneType' object has no attribute 'infer'")
        return super().__call__(*arguments)


class CrashesWithoutRuntime(Package):
    """A package that calls into a vendor's runtime which is not there."""

    @classmethod
    def deserialize_compile_artifacts(cls, data: bytes) -> Any:
        if not vendor_is_there():
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().deserialize_compile_artifacts(data)
