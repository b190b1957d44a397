"""What is said of complex numbers: of which a part is infinite or NaN, and of those of 16 bits."""

from __future__ import annotations

import math

import pytest
import torch
from generate.judging import changed, found, trial_of

from conformance.generate.observe import differs
from conformance.generate.program import TensorSpec

INFINITE = TensorSpec("complex64", (4,), values="minus_inf", seed=1)
#: Eager PyTorch gives NaN for the sum of two infinite ones, and whoever adds the parts does not.
SUM = trial_of("v0 = x0 + x0", INFINITE)


@pytest.mark.parametrize("part", [math.inf, -math.inf, math.nan])
def test_which_part_is_infinite_or_nan_is_nobodys_fault(part: float) -> None:
    put = changed(lambda result: torch.where(result.isfinite(), result, torch.full_like(result, complex(part, 1.0))))
    assert found(SUM, put) == []


def test_that_it_is_finite_is_wrong() -> None:
    put = changed(lambda result: torch.where(result.isfinite(), result, torch.full_like(result, complex(1.0, 1.0))))
    assert found(SUM, put) == ["values"]


def test_an_infinite_number_in_place_of_a_finite_one_is_wrong() -> None:
    finite = trial_of("v0 = x0 + x0", TensorSpec("complex64", (4,), seed=1))
    assert found(finite, changed(lambda result: result + complex(math.inf, 0.0))) == ["values"]


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_complex_numbers_of_16_bits_are_told_apart() -> None:
    """PyTorch makes them, of float16 and a complex number, and compares none."""
    one = torch.tensor([1 + 2j, complex("nan")]).to(torch.complex32)
    assert not differs(one, one.clone())
    assert differs(one, torch.tensor([1 + 3j, complex("nan")]).to(torch.complex32))
