"""What a process changes in PyTorch, told so that another process can compare it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from conformance.toolchains.pytorch_state import PyTorchState

#: Modules that import each other: only the one that begins can come first.
INNER, OUTER = "a_half_of_a_cycle", "the_beginning_of_a_cycle"


@pytest.fixture
def cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two such modules of PyTorch."""
    (tmp_path / f"{INNER}.py").write_text(f"from torch.{OUTER} import FIRST\nSECOND = 2\n")
    (tmp_path / f"{OUTER}.py").write_text(f"FIRST = 1\nfrom torch.{INNER} import SECOND\n")
    monkeypatch.setattr(torch, "__path__", [*torch.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    known = list(sys.meta_path)
    yield
    sys.meta_path[:] = known
    for name in (INNER, OUTER):
        sys.modules.pop(f"torch.{name}", None)
        vars(torch).pop(name, None)


@pytest.mark.usefixtures("cycle")
def test_modules_are_told_in_the_order_in_which_they_can_be_imported() -> None:
    with pytest.raises(ImportError, match="partially initialized"):
        importlib.import_module(f"torch.{INNER}")
    for name in (INNER, OUTER):
        sys.modules.pop(f"torch.{name}", None)
    state = PyTorchState(dict)
    importlib.import_module(f"torch.{OUTER}")
    imported = state.changes([])["imported"]
    assert imported == [f"torch.{OUTER}", f"torch.{INNER}"]
