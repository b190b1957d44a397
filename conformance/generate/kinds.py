"""The kinds of failures of a cell: what tells one from another, and what explains a failure by an earlier one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from conformance.generate.axes import PLAIN
from conformance.generate.judge import Divergence
from conformance.generate.places import values_of
from conformance.generate.steps import Trial

#: The observable that is not made smaller: such a change happens once in a process, whatever the trial is.
STATE = "process state"
#: Ways in which a trial may end early; a failure that ends it in one way may, played again, end it in another.
_ENDINGS = frozenset({"crash", "hang", "error"})


def operators_of(trial: Trial) -> set[str]:
    """The operators of a trial's programs."""
    return {name for program in trial.programs for name in program.operators}


def axes_of(trial: Trial) -> set[str]:
    """The values of axes that a trial has, without the plainest ones."""
    return {each for each in values_of(trial) if each not in PLAIN}


def explains(smaller: Trial, trial: Trial, observable: str) -> bool:
    """Whether a failing trial may be explained by a smaller one that fails in the same observable: it has all operators
    of that, and all values of axes. One without any shows that much is wrong, and not that all values are."""
    operators, axes = operators_of(smaller), axes_of(smaller)
    if not operators and not axes:
        return observable != "values"
    return operators <= operators_of(trial) and axes <= axes_of(trial)


def with_first(found: Sequence[Divergence], first: Divergence) -> list[Divergence]:
    """The same differences, in front those that are of the kind of ``first``; none where there is no such."""
    alike = [each for each in found if _is_alike(each, first)]
    return [*alike, *(each for each in found if each not in alike)] if alike else []


def _is_alike(one: Divergence, other: Divergence) -> bool:
    if one.observable in _ENDINGS and other.observable in _ENDINGS:
        return True
    return one.observable == other.observable and one.about == other.about


@dataclasses.dataclass(slots=True)
class Smallest:
    """A kind of failure: the trial that showed it first, the smallest trial so far, those that were played before it in
    the same process, and what was found in it, in front what is of this kind."""

    round: int
    first: Trial
    trial: Trial
    before: list[Trial]
    found: list[Divergence]
    #: Whether it was found while trials had less than their time: a hang may have been none then.
    hastily: bool = False
    count: int = 1


class Kinds:
    """The kinds of failures that a cell has found, by their names: ``most`` of them are told apart."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.known: dict[str, Smallest] = {}
        #: What was changed of the process's state: each counts once, and must not hide other differences.
        self._changed: set[str] = set()

    def unheard(self, found: Iterable[Divergence]) -> list[Divergence]:
        """The differences without changes of the process's state that were noted before."""
        return [each for each in found if each.observable != STATE or each.about not in self._changed]

    def explanation(self, trial: Trial, observable: str, before: int) -> Smallest | None:
        """The failure of a round before this one that explains a failure of the trial in an observable."""
        if observable == STATE:
            return None
        for kind in self.known.values():
            same = kind.round < before and kind.found[0].observable == observable
            if same and explains(kind.trial, trial, observable):
                return kind
        return None

    def note(self, name: str, failure: Smallest) -> bool | None:
        """Keep a failure of a kind if it is the first, or smaller than the one that is known. Returns whether the kind
        is new; None where there are too many kinds for one more."""
        if failure.found[0].observable == STATE:  # else it has its turn in another trial
            self._changed.update(each.about for each in failure.found if each.observable == STATE)
        known = self.known.get(name)
        if known is None:
            if len(self.known) >= self._most:
                return None
            self.known[name] = failure
            return True
        if failure.trial.size <= known.trial.size:
            known.trial, known.before, known.found = failure.trial, failure.before, failure.found
        return False
