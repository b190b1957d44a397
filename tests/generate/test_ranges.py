"""Programs do nothing of which PyTorch says that it is undefined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from generate.drawn import drawn, scope_of
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.generate.makers import Shadow
from conformance.generate.play import play

#: Hundreds of trials are drawn for each.
pytestmark = pytest.mark.parts


class Casts(TorchDispatchMode):
    """Counts casts from floats to whole numbers, and notes those beyond what there is (``torch.Tensor.to``)."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0
        self.beyond: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._to_copy.default and args[0].is_floating_point() and _is_whole(kwargs.get("dtype")):
            self.count += 1
            whole, limits = args[0].double().trunc(), torch.iinfo(kwargs["dtype"])
            if not bool(((whole >= limits.min) & (whole <= limits.max)).all()):
                self.beyond.append(f"{float(args[0].double().abs().max())} as {kwargs['dtype']}")
        return func(*args, **kwargs)


class Watched(Shadow):
    """Plain PyTorch, of which the casts in calls of ``forward`` are seen."""

    def __init__(self, seen: Casts) -> None:
        super().__init__(copies=False)
        self._seen = seen

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        """The model itself."""
        seen: Any = self._seen
        module.register_forward_pre_hook(lambda *_: seen.__enter__() and None)
        module.register_forward_hook(lambda *_: seen.__exit__(None, None, None), always_call=True)
        return module


def _is_whole(dtype: torch.dtype | None) -> bool:
    return dtype is not None and not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo"])
def test_floats_are_cast_to_what_holds_them(toolchain: str) -> None:
    """Also where a twin of the program has another number."""
    found: dict[str, list[str]] = {}
    casts = 0
    for trial in drawn(scope_of(toolchain, "dtypes"), 250, 4):
        seen = Casts()
        play(trial, Watched(seen))
        casts += seen.count
        if seen.beyond:
            found["\n".join(program.source() for program in trial.programs)] = seen.beyond
    assert not found
    assert casts > 100
