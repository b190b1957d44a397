"""Results that are random: when two are the same numbers, and when that is no accident."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

#: Where so many elements of two draws differ in eager PyTorch, it is no accident if none do elsewhere.
_MANY = 20


def all_same(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    """Whether two calls gave the same results."""
    return len(one) == len(other) and all(map(is_same, one, other))


def drawn_once(mine: Sequence[torch.Tensor], theirs: Sequence[torch.Tensor]) -> tuple[int, int] | None:
    """The numbers of two results that are the same, where eager PyTorch's are two draws; None where there are none."""
    for one, other in itertools.combinations(range(min(len(mine), len(theirs))), 2):
        if theirs[one].shape != theirs[other].shape or not is_same(mine[one], mine[other]):
            continue
        if are_two_draws([theirs[one]], [theirs[other]]):
            return one, other
    return None


def are_two_draws(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    """Whether results of plain PyTorch differ in so many elements that no accident makes a backend's the same."""
    pairs = [pair for pair in zip(one, other, strict=False) if pair[0].shape == pair[1].shape]
    return sum(int((~_equal(mine, theirs)).sum()) for mine, theirs in pairs) >= _MANY


def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two results have one dtype, one shape and the same elements: NaN is NaN, and no zero is the other."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    same = _equal(one, other)
    if one.is_floating_point():
        same &= one.isnan() | (torch.signbit(one) == torch.signbit(other))
    return bool(same.all())


def _equal(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Which elements are equal; NaN is NaN."""
    return (one == other) | ((one != one) & (other != other))
