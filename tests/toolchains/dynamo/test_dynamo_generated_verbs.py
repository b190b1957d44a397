"""Generated programs are lowered by the backend, or it is said that they were not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._dynamo.exc import SkipFrame

from conformance.generate.makers import NotLowered
from conformance.toolchains.dynamo.verbs.generated import _Maker
from conformance.toolchains.dynamo.verbs.watch import Watch


def maker_of(backend: Any) -> _Maker:
    watch = Watch("mine", backend)
    return _Maker(SimpleNamespace(watch=lambda: watch))  # type: ignore[arg-type]


def test_a_backend_that_declines_is_not_taken_for_pytorch_that_runs_in_its_place() -> None:
    """Dynamo passes over such an exception, and PyTorch runs what the backend was given."""

    def declining(graph: Any, inputs: Any) -> Any:
        raise SkipFrame("some other time")

    maker = maker_of(declining)
    lowered = maker.lower(torch.nn.Tanh(), dynamic=None)
    with pytest.raises(NotLowered, match="some other time"):
        lowered(torch.ones(3))
    maker.forget()


def test_what_is_lowered_is_called() -> None:
    maker = maker_of(lambda graph, inputs: graph.forward)
    lowered = maker.lower(torch.nn.Tanh(), dynamic=None)
    assert torch.equal(lowered(torch.ones(3)), torch.tanh(torch.ones(3)))
    maker.forget()
