"""Saboteurs of torch.compile: how a backend is registered, and what it does where its runtime is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import torch

from conformance import Features
from torch_conformance_saboteurs.dynamo_control import VENDOR, Code, DynamoControl
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


def _is_there() -> bool:
    try:
        return importlib.util.find_spec(VENDOR) is not None
    except ImportError:
        return False


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


@saboteur("runtime.absent", "runtime.host", phases=("run", "lower"))
class DynamoRunsWithoutRuntime(DynamoControl):
    """Where its runtime is missing it lets PyTorch compute, and nobody hears of it."""

    name = "dynamo_runs_without_runtime"

    def expect_runtime(self) -> None:
        pass


@saboteur("runtime.absent", "runtime.host", phases=("run",))
class DynamoMissesRuntimeLate(DynamoRunsWithoutRuntime):
    """That its runtime is missing shows only when code is called."""

    name = "dynamo_misses_runtime_late"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        DynamoControl.expect_runtime(self)
        return super().call(code, arguments)


@saboteur("runtime.absent", "runtime.host", phases=("lower",))
class DynamoHidesWhatIsMissing(DynamoControl):
    """Where its runtime is missing it ends in an IndexError, which Dynamo passes on as it is."""

    name = "dynamo_hides_what_is_missing"

    def expect_runtime(self) -> None:
        if not _is_there():
            raise IndexError("list index out of range")


@saboteur("runtime.absent", phases=("run", "lower"))
class DynamoSkipsWithoutRuntime(DynamoControl):
    """Where its runtime is missing it has Dynamo skip the frame."""

    name = "dynamo_skips_without_runtime"

    def expect_runtime(self) -> None:
        if not _is_there():
            raise torch._dynamo.exc.SkipFrame("no runtime")


@saboteur("runtime.fallback")
class DynamoFallsBackEntirely(DynamoControl):
    """It says that it computes by itself, and leaves every model to PyTorch."""

    name = "dynamo_falls_back_entirely"
    features = Features.all()


SABOTEURS = saboteur.all()
