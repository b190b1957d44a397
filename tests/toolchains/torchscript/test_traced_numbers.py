"""Samples as traced programs: what PyTorch computes in another dtype unless it optimises judges no delegate."""

from __future__ import annotations

import pytest
import torch

from conformance.compare.values import encode
from conformance.operators.samples import Sample
from conformance.toolchains.torchscript.verbs.operators import _traced


def one_more(x: torch.Tensor) -> torch.Tensor:
    return 1.0 + x


@pytest.mark.parametrize(("shape", "judges"), [((), False), ((2,), True)])
def test_a_number_that_promotes_once_it_is_saved_judges_nobody(shape: tuple[int, ...], judges: bool) -> None:
    x = torch.ones(shape)
    told = _traced(Sample(one_more, encode((x,)), encode(one_more(x)), settled=True, plain=one_more))
    assert ("program" in told) == judges
    if not judges:
        assert "float64" in told["reason"]
