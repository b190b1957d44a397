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
    return sum(int((mine != theirs).sum()) for mine, theirs in pairs) >= _MANY


def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two results have the same elements, where NaN is NaN."""
    if one.shape == other.shape and torch.equal(one, other):
        if not one.is_floating_point():
            return True
        return bool(torch.equal(torch.signbit(one), torch.signbit(other)))
    if not (one.is_floating_point() or one.is_complex()):
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())
