"""Comparison: what differs is told, what is close passes, and values survive the way between processes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from conformance.api.errors import (
    ConformanceFailure,
)
from conformance.compare.comparison import assert_close, assert_equal, comparing
from conformance.compare.values import decode, encode


@pytest.mark.parametrize(
    ("actual", "expected", "complaint"),
    [
        (torch.ones(2), torch.ones(3), "expected shape"),
        (torch.ones(2, dtype=torch.float64), torch.ones(2), "expected dtype torch.float32, found torch.float64"),
        (
            torch.tensor([1.0, 1.1]),
            torch.ones(2),
            "1 of 2 elements differ beyond rtol=1.3e-06, atol=1e-05; worst at [1]",
        ),
        (torch.ones(2, device="meta"), torch.ones(2), "expected device cpu, found meta"),
        (torch.ones(2), torch.ones(2, device="meta"), "expected device meta, found cpu"),
        (torch.nested.nested_tensor([torch.ones(2)]), torch.ones(1, 2), "expected nested False, found True"),
        (torch.eye(2).to_sparse(), torch.eye(2), "expected layout torch.strided, found torch.sparse_coo"),
        (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), torch.ones(2), "expected dtype torch.float32"),
        (torch.ones(2, device="meta"), 1.0, "found a tensor of float32: nested False, device meta"),
        (torch.nested.nested_tensor([torch.ones(2)]), 1.0, "found a tensor of float32: nested True"),
        (torch.tensor([0.0]), torch.tensor([math.nan]), "expected nan, found 0"),
        (torch.tensor([math.inf]), torch.tensor([-math.inf]), "expected -inf, found inf"),
        (torch.tensor([math.nan]), torch.tensor([1.0]), "expected 1, found nan"),
        (torch.tensor([2**53 + 1]), torch.tensor([2**53]), f"expected {2**53}, found {2**53 + 1}"),
        (torch.tensor([-(2**63)]), torch.tensor([0]), f"expected 0, found {-(2**63)}"),
        (torch.tensor([5, 7], dtype=torch.uint8), torch.tensor([5, 8], dtype=torch.uint8), "worst at [1]: expected 8"),
        (torch.tensor([True]), torch.tensor([False]), "expected False, found True"),
        (torch.ones(2), (torch.ones(2),), "expected a tuple of 1"),
        ((1, 2), [1, 2], "expected a list of 2"),
        (1.0, 1, "expected int 1, found float 1.0"),
        (True, 1, "expected int 1, found bool True"),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, "expected a dict with the keys ['a', 'b']"),
        (None, torch.ones(1), "found NoneType"),
    ],
)
def test_what_differs_is_told(actual: Any, expected: Any, complaint: str) -> None:
    with pytest.raises(ConformanceFailure) as failure:
        assert_close(actual, expected, "f")
    assert complaint in str(failure.value)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_a_margin_is_a_number_even_where_nothing_was_allowed(dtype: torch.dtype) -> None:
    with comparing({"float64": (0.0, 0.0)}) as margin, pytest.raises(ConformanceFailure):
        assert_close(torch.tensor([10**12], dtype=dtype), torch.tensor([0], dtype=dtype), "the output")
    row = margin.as_row()
    assert math.isfinite(row["used"])
    assert row["used"] > 1
    assert row["absolute"] == 10**12
    (budget,) = row["budgets"].values()
    assert budget["origin"] == ("author" if dtype is torch.float64 else "exact")


def test_what_is_close_passes_and_its_margin_is_kept() -> None:
    with comparing({}) as margin:
        assert_close(torch.tensor([1.0 + 5e-6]), torch.ones(1), "f")
        assert_close(torch.tensor([math.nan, math.inf]), torch.tensor([math.nan, math.inf]), "f")
        assert_close(torch.empty(0, 3), torch.empty(0, 3), "f")
    assert margin.comparisons == 3
    row = margin.as_row()
    assert 0.3 < row["used"] < 0.6
    assert (row["dtype"], row["budgets"]["float32"]["origin"]) == ("float32", "default")
    with comparing({"float32": (0.5, 0.0)}):
        assert_close(torch.tensor([1.4]), torch.ones(1), "f")
    with pytest.raises(ConformanceFailure):
        assert_equal(torch.tensor([1.0 + 1e-6]), torch.ones(1), "f")
    with pytest.raises(ConformanceFailure):
        assert_equal(torch.tensor([-0.0]), torch.tensor([0.0]), "f")


def test_values_survive_the_way_between_processes() -> None:
    shared = torch.randn(4, 6)
    value = (shared[::2].t(), [shared, {"k": torch.tensor(1, dtype=torch.bfloat16)}], None, 2.5, "ü", True, 1 << 40)
    back = decode(encode(value))
    assert back[0].stride() == value[0].stride()
    assert back[0].untyped_storage().data_ptr() == back[1][0].untyped_storage().data_ptr()
    assert_equal(back, value, "value")


def test_the_sign_of_nan_is_no_difference_however_close_values_must_be() -> None:
    nan = torch.tensor([math.nan])
    with comparing({"float32": (0.0, 0.0)}):
        assert_close(nan, torch.copysign(nan, torch.tensor(-1.0)), "result")
        with pytest.raises(ConformanceFailure):
            assert_close(torch.tensor([0.0]), torch.tensor([-0.0]), "result")
