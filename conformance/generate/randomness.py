"""Results that are random: which are, when two are the same numbers, and when that is no accident."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from conformance.generate.dead_code import needed
from conformance.generate.steps import Trial

#: Where so many elements of two draws differ in eager PyTorch, it is no accident if none do elsewhere.
_MANY = 20
#: Statements that may draw numbers, by functions or by methods.
_DRAWS = re.compile(r"\brand|\bbernoulli|\bnormal_?\(|\bmultinomial|dropout\(")


def random_steps(eager: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The numbers of the steps whose values are random, by the rows of eager PyTorch: numbers were drawn in them, or
    in one before them that wrote to what is kept."""
    found, kept = set(), False
    for number, row in enumerate(eager):
        if row.get("random") or kept:
            found.add(number)
        kept |= bool(row.get("random") and row.get("written"))
    return frozenset(found)


def without_random_numbers(trial: Trial, number: int) -> set[int]:
    """The places, among the results of a call, of those that need no statement which draws numbers. There are none
    where values are kept from call to call, or where the results are not tensors one beside the other."""
    call = trial.steps[number].call
    if call is None or trial.keeps_values or len(trial.programs) > 1:
        return set()
    (method,) = (each for each in trial.programs[0].all_methods if each.name == call.method)
    result = ast.parse(method.result, mode="eval").body
    if not isinstance(result, ast.Tuple) or not all(isinstance(each, ast.Name) for each in result.elts):
        return set()
    return {
        place
        for place, name in enumerate(ast.unparse(each) for each in result.elts)
        if not any(_DRAWS.search(line.text) for line in needed(method.lines, name))
    }


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
