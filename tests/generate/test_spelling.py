"""Spellings of a call: which there are, and that they mean the same."""

from __future__ import annotations

import pytest
import torch

from conformance.generate.grammar.spelling import spelt


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("x.shape[-1]", "x.size(-1)"),
        ("torch.softmax(x, dim=-2)", "torch.softmax(x, -2)"),
        ("F.log_softmax(x, dim=0, dtype=torch.float64)", "F.log_softmax(x, 0, dtype=torch.float64)"),
        ("torch.sum(x, dim=(0, 1), keepdim=True)", "torch.sum(x, (0, 1), keepdim=True)"),
        ("x.mean(dim=1) + x.argmax(dim=1)", "x.mean(1) + x.argmax(1)"),
        ("torch.cumsum(x, dim=1).amax(dim=0)", "torch.cumsum(x, 1).amax(0)"),
    ],
)
def test_another_spelling_means_the_same(text: str, other: str) -> None:
    assert spelt(text, lambda _: False) == text
    assert spelt(text, lambda _: True) == other
    values = [eval(each, {"torch": torch, "F": torch.nn.functional, "x": torch.randn(3, 4)}) for each in (text, other)]
    assert type(values[0]) is type(values[1])


@pytest.mark.parametrize("text", ["torch.std(x, dim=0)", "torch.flip(x, dims=(0,))", "F.normalize(x, dim=1)", "x + 1"])
def test_what_has_one_spelling_keeps_it(text: str) -> None:
    assert spelt(text, lambda _: True) == text
