"""The error statistics, against values that were worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from conformance.operators.statistics import errors_of
from conformance.operators.table import Errors

NAN, INF = math.nan, math.inf
LARGEST = torch.finfo(torch.float64).max


def tensor(values: Any, dtype: str) -> torch.Tensor:
    return torch.tensor(values, dtype=getattr(torch, dtype))


@pytest.mark.parametrize(
    ("actual", "expected", "dtype", "errors"),
    [
        # The same in every way; -0.0 is 0.0, and NaN and infinities are themselves.
        ([1.0, 2.0], [1.0, 2.0], "float32", Errors(0, 0, 0, INF)),
        ([0.0, NAN, INF, -INF], [-0.0, NAN, INF, -INF], "float32", Errors(0, 0, 0, INF)),
        # 3.5 for 3: the neighbours of 3 are 2**-22 apart, 0.5 is 2**21 of them. 20 log10(|(3, 4)| / 0.5) = 20 dB.
        ([3.5, 4.0], [3.0, 4.0], "float32", Errors(0.5, 0.5 / 3, 2**21, 20.0)),
        # An error where the expected value is 0 is no relative error; 1.4e-45 is the value next to 0.
        ([1.0, 2**-149], [1.0, 0.0], "float32", Errors(2**-149, 0, 1, 20 * 149 * math.log10(2))),
        # The two values on either side of 0 are 2 apart.
        ([2**-149], [-(2**-149)], "float32", Errors(2**-148, 2, 2, 20 * math.log10(0.5))),
        ([1 + 2**-10], [1.0], "float16", Errors(2**-10, 2**-10, 1, 20 * math.log10(2**10))),
        ([1 + 2**-7], [1.0], "bfloat16", Errors(2**-7, 2**-7, 1, 20 * math.log10(2**7))),
        ([1 + 2**-52], [1.0], "float64", Errors(2**-52, 2**-52, 1, 20 * math.log10(2**52))),
        # From the lowest to the largest float64, the ordinals are too far apart for an int64.
        (
            [LARGEST],
            [-LARGEST],
            "float64",
            Errors(INF, INF, 2 * 0x7FEFFFFFFFFFFFFF, None),
        ),
        # Squares that would overflow, or vanish, do neither.
        ([2e200], [1e200], "float64", Errors(1e200, 1, 2**52, 0.0)),
        ([1e-200, 1.0], [0.0, 1.0], "float64", Errors(1e-200, 0, 0x16687E92154EF7AC, 4000.0)),
        # NaN or an infinity where there should be none, or none where there should be, is infinitely wrong.
        ([NAN, 1.0], [1.0, 1.0], "float32", Errors(INF, INF, INF, INF)),
        ([1.0], [NAN], "float32", Errors(INF, INF, INF, None)),
        ([1.0], [INF], "float32", Errors(INF, INF, INF, None)),
        ([-INF], [INF], "float32", Errors(INF, INF, INF, None)),
        # Nothing but 0 was expected: no signal.
        ([1.0], [0.0], "float32", Errors(1, None, 0x3F800000, -INF)),
        # Integers have no units in the last place. The second pair is one number in float64.
        ([6, 8], [3, 4], "int32", Errors(4, 1, None, 0.0)),
        ([2**53 + 1], [2**53], "int64", Errors(1, 2**-53, None, 20 * math.log10(2**53))),
        ([2**63 - 1], [-(2**63)], "int64", Errors(2.0**64, 2, None, 20 * math.log10(0.5))),
        ([200], [100], "uint8", Errors(100, 1, None, 0.0)),
        ([True, False], [True, True], "bool", Errors(1, 1, None, 20 * math.log10(math.sqrt(2)))),
        # |3+4j - 0| = 5; units in the last place by component.
        ([3 + 4j], [3 + 3j], "complex64", Errors(1, 1 / math.sqrt(18), 2**22 * 1.0, 10 * math.log10(18))),
        ([complex(NAN, 1)], [complex(NAN, 1)], "complex64", Errors(0, 0, 0, None)),
        # Nothing to compare.
        ([], [], "float32", Errors()),
    ],
)
def test_by_hand(actual: Any, expected: Any, dtype: str, errors: Errors) -> None:
    found = errors_of(tensor(actual, dtype), tensor(expected, dtype))
    for name in ("max_abs", "max_rel", "ulp", "sqnr_db"):
        wanted = getattr(errors, name)
        assert getattr(found, name) == (wanted if wanted is None else pytest.approx(wanted, rel=1e-6)), name


def test_other_dtypes_and_shapes_say_nothing() -> None:
    assert errors_of(torch.ones(2), torch.ones(3)) == Errors()
    assert errors_of(torch.ones(2), torch.ones(2, dtype=torch.float64)) == Errors()


def test_several_tensors_count_by_the_worst() -> None:
    pair = (torch.tensor([1.0, 2.0]), torch.tensor(8.0))
    found = errors_of((torch.tensor([1.0, 2.5]), torch.tensor(7.0)), pair)
    assert (found.max_abs, found.max_rel) == (1.0, 0.25)
    assert found.sqnr_db == pytest.approx(10 * math.log10(5 / 0.25))


def test_layout_conjugation_and_strides_do_not_matter() -> None:
    values = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6.0]])
    assert errors_of(values.conj().t(), values.conj().resolve_conj().t().contiguous()).max_abs == 0
    assert errors_of(torch.eye(3).to_sparse(), torch.eye(3).to_sparse()).max_abs == 0
