"""How far a result is from the expected one: largest absolute and relative error, units in the last place, SQNR."""

from __future__ import annotations

import math
from typing import Any

import torch

from conformance.operators.table import Errors

#: Bits of the dtypes of which units in the last place are counted, as integers of the same width.
_BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


#: How many times as far from the exact values as eager PyTorch's a result may be, where it cancels.
BUDGET = 4.0
_WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def wider(value: Any) -> Any:
    """A floating-point or complex tensor in 64 bits; anything else as it is."""
    return value.to(_WIDER[value.dtype]) if isinstance(value, torch.Tensor) and value.dtype in _WIDER else value


def within_budget(actual: Any, expected: Any, exact: Any) -> bool:
    """Whether no tensor's largest error, measured from the exact values, is beyond :data:`BUDGET` times that of the
    expected one: where a computation cancels, rounding in another order tells nothing of who is right."""
    if len(actual) != len(expected) or len(actual) != len(exact):
        return False
    return all(
        mine.shape == truth.shape and _largest(mine, truth) <= BUDGET * _largest(theirs, truth)
        for mine, theirs, truth in zip(actual, expected, exact, strict=True)
    )


def unstable(expected: Any, exact: Any) -> bool:
    """Whether what is discrete about a result depends on rounding: a whole number, or that an element is finite, is
    another one in wider dtypes."""
    mine, theirs = ((each,) if isinstance(each, torch.Tensor) else tuple(each) for each in (expected, exact))
    return len(mine) != len(theirs) or not all(map(_alike, mine, theirs))


def _alike(mine: torch.Tensor, theirs: torch.Tensor) -> bool:
    if mine.shape != theirs.shape:
        return False
    mine, theirs = _dense(mine), _dense(theirs)
    if not (mine.is_floating_point() or mine.is_complex()):
        return mine.dtype != theirs.dtype or torch.equal(mine, theirs)
    return torch.equal(mine.isfinite(), theirs.isfinite()) and torch.equal(mine.isnan(), theirs.isnan())


def _largest(tensor: torch.Tensor, truth: torch.Tensor) -> float:
    if tensor.numel() == 0:
        return 0.0
    return float(_distance(_wide(_dense(tensor)), _wide(_dense(truth))).max())


def errors_of(actual: Any, expected: Any) -> Errors:
    """The errors of a tensor, or of a tuple of them, against the expected one; at the worst element of any.

    Tensors that differ in dtype or shape, and those without elements, add nothing. Where one side is NaN or infinite
    and the other is not the same, the error is infinite; such elements are left out of the SQNR.
    """
    pairs = [(actual, expected)] if isinstance(expected, torch.Tensor) else zip(actual, expected, strict=False)
    return Errors.worst(_tensor_errors(mine, theirs) for mine, theirs in pairs)


def _tensor_errors(actual: torch.Tensor, expected: torch.Tensor) -> Errors:
    if actual.dtype != expected.dtype or actual.shape != expected.shape or expected.numel() == 0:
        return Errors()
    mine, theirs = _dense(actual), _dense(expected)
    error, size = _distance(mine, theirs), _wide(theirs).abs()
    relative = torch.where(error == 0, 0.0, error / size)[size != 0]
    relative = torch.where(relative.isnan(), math.inf, relative)  # an infinite error of an infinite value
    return Errors(
        max_abs=float(error.max()),
        max_rel=float(relative.max()) if relative.numel() else None,
        ulp=_units_in_the_last_place(mine, theirs),
        sqnr_db=_sqnr(error, size),
    )


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
    return tensor.resolve_conj().resolve_neg().flatten()


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.dtype.is_complex else torch.float64)


def _same(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    return (mine == theirs) | (mine.isnan() & theirs.isnan())


def _distance(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """|mine - theirs| as float64: 0 where both are NaN or the same infinity, infinite where only one is."""
    distance = (_wide(mine) - _wide(theirs)).abs()
    if mine.dtype == torch.int64:
        # float64 does not tell neighbours beyond 2**53 apart; integers that near cannot overflow when subtracted.
        near = distance < 2**52
        distance = torch.where(near, torch.where(near, mine - theirs, 0).abs().to(torch.float64), distance)
    distance = torch.where(distance.isnan(), math.inf, distance)
    return torch.where(_same(mine, theirs), 0.0, distance)


def _units_in_the_last_place(mine: torch.Tensor, theirs: torch.Tensor) -> float | None:
    """How many values of the dtype the two are apart, at most; -0.0 and 0.0 are one value, NaN is infinitely far."""
    if mine.dtype.is_complex:
        mine, theirs = torch.view_as_real(mine).flatten(), torch.view_as_real(theirs).flatten()
    if mine.dtype not in _BITS:
        return None
    apart = _distance(_ordinal(mine), _ordinal(theirs))
    same = _same(mine, theirs)
    apart = torch.where(mine.isfinite() & theirs.isfinite(), apart, math.inf)
    return float(torch.where(same, 0.0, apart).max())


def _ordinal(tensor: torch.Tensor) -> torch.Tensor:
    """The place of each value in the order of all values of its dtype, 0.0 and -0.0 at 0."""
    bits = tensor.contiguous().view(_BITS[tensor.dtype])
    magnitude = bits & torch.iinfo(bits.dtype).max
    return torch.where(bits < 0, -magnitude.to(torch.int64), magnitude.to(torch.int64))


def _sqnr(error: torch.Tensor, size: torch.Tensor) -> float | None:
    """The energy of the expected values over that of the errors, in decibels. None where no element is finite."""
    finite = error.isfinite() & size.isfinite()
    if not bool(finite.any()):
        return None
    noise = _level(error[finite])
    return math.inf if noise == -math.inf else _level(size[finite]) - noise


def _level(values: torch.Tensor) -> float:
    """10 log10 of the sum of squares, by way of the largest, so that no square overflows or vanishes."""
    largest = float(values.max())
    if largest == 0:
        return -math.inf
    return 20 * math.log10(largest) + 10 * math.log10(float((values / largest).square().sum()))
