"""How near the values of a result must be to the exact ones.

A result may be as wrong as its dtype is. How wrong that is, is measured and not guessed: the same program is computed
in 64 bits, where every result that its own dtype could not hold is now and then moved by a unit in that dtype's last
place. An element on which these computations do not agree, or of which eager PyTorch says something else than they do,
judges nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from conformance.compare.comparison import describe
from conformance.generate.leeway import has_squares, may_overflow_on_the_way, says_signs_of_zeros
from conformance.generate.randomness import is_same
from conformance.generate.steps import Trial
from conformance.generate.tolerances import coarseness, tolerances_of

#: A result may be this many times as far from the exact one as the computations with noise are at most.
_MULTIPLE = 8.0
#: Relative distance of the computations beyond which a program amplifies errors, and the element judges nobody.
_AMPLIFIED = 0.02
#: This many times the largest relative distance in a tensor, which counts up to a bound, is allowed to each element:
#: noise may spare one by accident.
_TYPICAL_MULTIPLE, _MOST_TYPICAL = 4, 1e-4
#: Exact values beyond this part of a dtype's largest may overflow in one computation and not in another.
_BRINK = 0.99


class Nearness:
    """How near the results of a step of a trial must be, by its number. ``declared`` are a backend's own tolerances, by
    dtype; with ``bit_by_bit`` nothing exact is known, and every bit is compared."""

    def __init__(
        self, trial: Trial, number: int, declared: Mapping[str, tuple[float, float]], *, bit_by_bit: bool
    ) -> None:
        self._bit_by_bit = bit_by_bit
        self._squares = has_squares(trial)
        self._overflows = may_overflow_on_the_way(trial, number)
        self._signs = says_signs_of_zeros(trial)
        self._coarse = coarseness(trial, number)
        self._tolerances = tolerances_of(trial, declared, number)
        self._keeps_tiny = not declared

    def difference(
        self, mine: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor | None, noisy: Sequence[torch.Tensor | None]
    ) -> str:
        """What is wrong with the values of a tensor; empty if nothing is, or if it cannot be told."""
        if mine.dtype != eager.dtype or mine.shape != eager.shape:
            return f"expected {describe(eager)}, found {describe(mine)}"
        if not mine.numel():
            return ""
        if self._bit_by_bit:
            return "" if is_same(mine, eager) else "not the same"
        if exact is None or exact.shape != eager.shape:
            return ""  # in 64 bits the program takes another path
        computed = [exact, *(each for each in noisy if each is not None and each.shape == eager.shape)]
        if not (eager.is_floating_point() or eager.is_complex()):
            wrong = mine != eager
            for each in computed:
                wrong &= each.to(eager.dtype) == eager
            return _told_difference(mine, eager, wrong)
        if eager.is_complex():
            # which part of it is infinite or NaN says little: eager PyTorch's sum of two infinite numbers is NaN
            mine = torch.where(eager.isfinite() | mine.isfinite(), mine, eager)
            parts = [torch.view_as_real(each.resolve_conj()) for each in (mine, eager)]
            others = [torch.view_as_real(each.to(torch.complex128).resolve_conj()) for each in computed]
            return self._of_floats(parts[0], parts[1], others, str(eager.dtype).removeprefix("torch."))
        return self._of_floats(mine, eager, computed, str(eager.dtype).removeprefix("torch."))

    def _of_floats(self, mine: torch.Tensor, eager: torch.Tensor, computed: Sequence[torch.Tensor], dtype: str) -> str:
        rtol, atol = self._tolerances[dtype]
        found, theirs = mine.to(torch.float64), eager.to(torch.float64)
        largest = torch.finfo(eager.dtype).max
        others = torch.stack([each.to(torch.float64) for each in computed])
        # what lies beyond the dtype is infinite in it
        beyond = (others[0].abs() > largest) & others[0].isfinite()
        others = torch.where(others.abs() > largest, torch.copysign(torch.tensor(math.inf), others), others)
        centre = others[0]
        witnesses = torch.cat([others[1:], theirs[None]])
        same_kind = (witnesses.isnan() == centre.isnan()) & (witnesses.isinf() == centre.isinf())
        judged = (same_kind & ~(witnesses.isinf() & (witnesses != centre))).all(0)
        distances = (witnesses - centre).abs()
        spread = torch.where(distances.isfinite(), distances, 0.0).amax(0)
        size = centre.abs()
        finite = centre.isfinite()
        relative = torch.where(finite & (size > 0), spread / size.clamp_min(1e-300), 0.0)
        judged &= relative <= max(_AMPLIFIED, 2 * self._coarse)
        calm = relative[judged & finite]
        typical = min(float(calm.max()) if calm.numel() else 0.0, _MOST_TYPICAL + self._coarse)
        allowed = atol + (rtol + _TYPICAL_MULTIPLE * typical) * size + _MULTIPLE * spread
        error = (found - centre).abs()
        both_nan = found.isnan() & centre.isnan()
        near = both_nan | (found == centre) | (error <= torch.where(finite, allowed, 0.0))
        if self._keeps_tiny:  # what was moved, negated or chosen, and not rounded, is no zero, however small it is
            near &= ~((witnesses == centre).all(0) & (centre != 0) & (found == 0))
        # near overflow rounding decides; and a sum of squares may overflow where eager PyTorch computes it in 64 bits
        brink = finite & (size > largest * _BRINK)
        if self._squares:
            brink |= finite & found.isinf() & (found.sign() == centre.sign()) & (size > math.sqrt(largest))
        if self._overflows:
            brink |= (finite | beyond) & ~found.isfinite()
        wrong = judged & ~near & ~brink
        text = _told_difference(mine, eager, wrong)
        return text or (_told_zeros(found, theirs, others, judged) if self._signs else "")


def _told_zeros(found: torch.Tensor, theirs: torch.Tensor, others: torch.Tensor, judged: torch.Tensor) -> str:
    """Zeros of the other sign, where every computation (the rows of ``others``) agrees on the sign of an exact zero."""
    signs = torch.signbit(theirs)
    agreed = ((others == 0) & (torch.signbit(others) == signs)).all(0)
    wrong = judged & (found == 0) & (theirs == 0) & agreed & (torch.signbit(found) != signs)
    count = int(wrong.sum())
    return f"{count} of {wrong.numel()} elements are zeros of the other sign" if count else ""


def _told_difference(mine: torch.Tensor, eager: torch.Tensor, wrong: torch.Tensor) -> str:
    count = int(wrong.sum())
    if not count:
        return ""
    at = int(wrong.flatten().to(torch.int8).argmax())
    index = [int(each) for each in torch.unravel_index(torch.tensor(at), wrong.shape)]
    found, expected = (each.flatten()[at].item() for each in (mine, eager))
    return f"{count} of {wrong.numel()} elements differ; first at {index}: expected {expected}, found {found}"
