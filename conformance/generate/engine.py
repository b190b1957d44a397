"""The search: trials are drawn, played and judged; what fails is made smaller, tried alone, and kept.

Hypothesis draws and shrinks. A failure is told from others by what is observable of it, so that each kind is made
smaller by itself. What is found is confirmed in a process of its own: alone, or after as few of the trials before it as
make it fail again.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from conformance.api.errors import DeviceDied, DeviceTimeout
from conformance.api.verdicts import Verdict
from conformance.generate.budget import Share
from conformance.generate.drawing import independent_draws
from conformance.generate.judge import Divergence
from conformance.generate.kept import Kept
from conformance.generate.kinds import STATE, Kinds, Smallest, with_first
from conformance.generate.laboratory import Discarded, Ended, Laboratory, Refused
from conformance.generate.reduction import reduced
from conformance.generate.steps import Trial
from conformance.generate.tally import Finding, Tally

#: Seconds that making the findings of a round smaller may take, and those of a cell; and those of a cell, at least,
#: where the budget is a time and the cells before it have used up the laboratory's patience.
_SHRINKING_SECONDS = 12.0
_SHRINKING_SECONDS_OF_A_CELL = 40.0
_LEAST_SHRINKING_SECONDS = 5.0
#: Seconds that a trial counts for while findings are made smaller, by how it ends, where the budget is a number of
#: programs: nothing depends on the clock then, so that a seed always gives the same findings.
_NOMINAL_SECONDS = {"": 0.05, "error": 0.2, "crash": 0.2, "hang": 1.0}
#: How often what is found is tried with less in it at last, and what ends the process; and where the budget is a time,
#: for how many seconds.
_MOST_REDUCTIONS = 60
_MOST_REDUCTIONS_OF_AN_END = 8
_REDUCING_SECONDS = 15.0
#: A cell tells this many kinds of failures apart at most.
_MOST_KINDS = 12
#: Trials of a round, which hypothesis draws at a time, from a seed of the round's own.
_ROUND = 100
#: How many of the trials before a failure are played again at most, to see whether it depends on them.
_MOST_BEFORE = 64
#: The part of its time limit that a trial has while a hang is made smaller, and while a hang is confirmed.
_HASTE = 1 / 30
_HASTE_TO_CONFIRM = 1 / 10


class _Enough(BaseException):
    """The budget is used up. No Exception, so that hypothesis does not take it for a failure."""


class _Failure(Exception):
    """A trial that failed; a class of its own for each kind, by which hypothesis tells them apart."""


@functools.cache
def _kind(name: str) -> type[_Failure]:
    return type(f"Failure_{name}", (_Failure,), {})


class Search:
    """The search of one cell.

    ``kept`` is the file in which findings are kept, and tried first by a later search; None: none are kept. ``told`` is
    called with a text for each kind of failure as soon as it is found. With ``first_only`` the search ends at the first
    failure, which is not made smaller. ``leaks`` also compares how many tensors stay in memory after a trial.
    """

    def __init__(
        self,
        laboratory: Laboratory,
        strategy: st.SearchStrategy[Trial],
        share: Share,
        tally: Tally,
        *,
        kept: Path | None = None,
        told: Callable[[str], None] = lambda text: None,
        leaks: bool = False,
        first_only: bool = False,
    ) -> None:
        self._laboratory = laboratory
        self._strategy = strategy
        self._share = share
        self._tally = tally
        self._kept = Kept(kept)
        self._told = told
        self._leaks = leaks
        self._first_only = first_only
        self._began = time.monotonic()
        #: Whether the user interrupted it (Ctrl-C); what it had found by then is confirmed and noted.
        self.interrupted = False
        #: What is left of the seconds in which the round's failures are made smaller; None until there is one.
        self._shrinking: float | None = None
        self._shrinking_left = self._shrinking_seconds = self._patience()
        #: When the last try to make one smaller had ended: drawing the next takes time too.
        self._shrunk_at = 0.0
        self._number = 0
        self._kinds = Kinds(_MOST_KINDS)
        #: The findings of an earlier run that are there still.
        self._remembered: list[Finding] = []

    def _patience(self) -> float:
        """The seconds in which the failures of this cell may be made smaller."""
        if self._share.seconds is None:
            return _SHRINKING_SECONDS_OF_A_CELL
        return min(_SHRINKING_SECONDS_OF_A_CELL, max(_LEAST_SHRINKING_SECONDS, self._laboratory.patience))

    def run(self) -> None:
        """Search until the share is used up, or the user interrupts, and note everything in the tally."""
        # what a seed finds must not depend on the cells that the process ran before
        self._laboratory.fresh()
        self._laboratory.haste = 1.0
        by_time = self._share.seconds is not None
        try:
            for trial, before in self._kept.trials():
                self._look_again(trial, before)
            self._number = self._kept.rounds_done(self._tally.seed) if by_time else 0
            self._search()
        except KeyboardInterrupt:
            self.interrupted = True
            self._laboratory.close()  # a device may hold an answer to the interrupted question
        self._shrinking = None
        if by_time:
            self._laboratory.patience -= self._shrinking_seconds - self._shrinking_left
        for kind in sorted(self._kinds.known.values(), key=lambda each: each.trial.size):
            if not self._tally.explains(kind.trial, kind.found, kind.count):
                self._confirm(kind)
        for finding in self._remembered:
            if not self._tally.knows(finding.cause):
                self._tally.add(finding)
        self._tally.seconds = time.monotonic() - self._began
        again = self._kept.untried if self.interrupted else []
        unfinished = (self._tally.seed, max(0, self._number - 1)) if self.interrupted and by_time else None
        self._kept.write([*((each.trial, list(each.before)) for each in self._tally.findings), *again], unfinished)

    def _look_again(self, trial: Trial, before: list[Trial]) -> None:
        """Play the finding of an earlier run. It is no program of the seed, whose failures are not counted with it."""
        found = self._again(trial, before)
        if found:
            self._told(f"{found[0].observable}, as before: {found[0].text}")
            self._remembered.append(_finding(trial, before, found, 1))

    def _search(self) -> None:
        while not self._is_done():
            seen = self._seen
            self._round()
            if seen == self._seen:
                break  # hypothesis has drawn everything that there is

    def _is_done(self) -> bool:
        if self._kinds.known and self._first_only:
            return True
        return self._share.is_used_up(self._tally.tried, self._seen, time.monotonic() - self._began)

    @property
    def _seen(self) -> int:
        return self._tally.tried + self._tally.discarded.total() + self._tally.refused.total()

    def _round(self) -> None:
        self._number += 1
        self._shrinking = None
        shrinks = not self._first_only and self._shrinking_left > 0

        seed = self._tally.seed * 1009 + self._number

        @hypothesis.seed(seed)
        @settings(
            backend=independent_draws(seed),
            max_examples=_ROUND,
            phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
            database=None,
            deadline=None,
            derandomize=False,
            print_blob=False,
            report_multiple_bugs=True,
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(self._strategy)
        def search(trial: Trial) -> None:
            failing = self._try(trial)
            if self._shrinking is None and self._is_done():
                raise _Enough
            if failing is not None and shrinks and not failing.startswith(STATE):
                if self._shrinking is None:
                    self._shrinking = min(_SHRINKING_SECONDS, self._shrinking_left)
                    self._shrunk_at = time.monotonic()
                raise _kind(failing)

        # what failed is among the kinds, whatever hypothesis thinks of how often it did
        with contextlib.suppress(_Enough, _Failure, hypothesis.errors.HypothesisException):
            try:
                search()
            except ExceptionGroup as group:
                for each in group.exceptions:
                    if not isinstance(each, _Failure | hypothesis.errors.HypothesisException):
                        raise each from None  # a mistake of the harness, and no failure of a trial
        if self._shrinking is not None:
            # a run that is killed, or a worker of one that is interrupted, leaves at least this
            found = [(each.trial, list[Trial]()) for each in self._kinds.known.values()]
            found += [(each.trial, list(each.before)) for each in self._remembered]
            self._kept.write([*found, *self._kept.untried], None)

    def _try(self, trial: Trial) -> str | None:
        """Play a trial; the kind of its failure where that is worth making smaller, or None."""
        if self._shrinking is not None and self._shrinking <= 0:
            raise _Enough
        hastily = self._laboratory.haste < 1
        found = self._kinds.unheard(self._played(trial))
        for first in _firsts(found):
            explanation = self._kinds.explanation(trial, first.observable, self._number)
            if explanation is None:
                return self._noted(trial, with_first(found, first), hastily)
            if self._shrinking is None:
                explanation.count += 1
        return None

    def _played(self, trial: Trial) -> list[Divergence]:
        """What is found in a trial, which is counted unless it is a try to make another smaller."""
        searching = self._shrinking is None
        ended = ""
        try:
            found = self._laboratory.differences(trial, leaks=self._leaks)
        except Discarded as reason:
            if searching:
                self._tally.discarded[str(reason)] += 1
            return []
        except Refused as operator:
            if searching:
                self._tally.refused[str(operator)] += 1
            return []
        except Ended as error:
            found = [_difference(error)]
            ended = found[0].observable
            if ended == "hang":
                self._laboratory.haste = _HASTE
        finally:
            if not searching:
                self._spend(ended)
        if searching:
            self._tally.count(trial)
        return found

    def _spend(self, ended: str) -> None:
        """Take what a try to make a failure smaller has cost from what is left for it."""
        assert self._shrinking is not None, "this is called while failures are made smaller"
        now = time.monotonic()
        spent = _NOMINAL_SECONDS[ended] if self._share.seconds is None else now - self._shrunk_at
        self._shrunk_at = now
        self._shrinking -= spent
        self._shrinking_left -= spent

    def _noted(self, trial: Trial, found: list[Divergence], hastily: bool) -> str | None:
        """The kind of a failure, of which the smallest trial is kept; None where there are too many kinds."""
        observable = found[0].observable
        name = f"{observable} {found[0].about if observable == STATE else self._number}"
        before = self._laboratory.played[:-1]
        is_new = self._kinds.note(name, Smallest(self._number, trial, trial, before, found, hastily))
        if is_new:
            ending = "" if self._first_only else "; being made smaller"
            self._told(f"{observable}: {found[0].text}{ending}")
        return name if is_new is not None else None

    def _confirm(self, kind: Smallest) -> None:
        """Play a failure in a fresh process, alone, or else after the trials before it, and note it in the tally."""
        trial, needed, first = kind.trial, list[Trial](), kind.found[0]
        repeated = with_first(self._again(trial, []), first)
        if not repeated and first.observable == "hang" and trial != kind.first:
            # the smaller trial was merely too slow for its shortened time
            trial = kind.first
            repeated = with_first(self._again(trial, []), first)
        after = 1
        while not repeated and after <= min(len(kind.before), _MOST_BEFORE):
            needed = kind.before[-after:]
            repeated = with_first(self._again(trial, needed), first)
            after *= 2
        if not repeated and kind.hastily and first.observable == "hang":
            return
        in_haste = self._first_only or self.interrupted
        if repeated and not needed and first.observable != STATE and not in_haste:
            trial, repeated = self._reduced(trial, repeated)
        if repeated:
            self._tally.add(_finding(trial, needed, repeated, kind.count))
        else:
            self._tally.add(_finding(trial, [], kind.found, kind.count, repeats=False))

    def _reduced(self, trial: Trial, found: list[Divergence]) -> tuple[Trial, list[Divergence]]:
        """A trial with as little in it as still shows what was found in it first, and what is found in that one."""
        first, tries = found[0], itertools.count()
        until = time.monotonic() + (math.inf if self._share.seconds is None else _REDUCING_SECONDS)
        most = _MOST_REDUCTIONS_OF_AN_END if first.ended else _MOST_REDUCTIONS

        def may_try() -> bool:
            return next(tries) < most and time.monotonic() < until

        smaller, _ = reduced(trial, found, lambda each: self._again(each, [], fresh=first.ended is not None), may_try)
        if smaller == trial:
            return trial, found
        confirmed = with_first(self._again(smaller, []), first)
        return (smaller, confirmed) if confirmed else (trial, found)

    def _again(self, trial: Trial, before: list[Trial], *, fresh: bool = True) -> list[Divergence]:
        """What is found in a trial when it is played after the trials in ``before``, in a fresh process if so asked."""
        if fresh:
            self._laboratory.fresh()
        haste = self._laboratory.haste
        self._laboratory.haste = _HASTE_TO_CONFIRM if haste < 1 else haste
        try:
            for each in before:
                try:
                    self._laboratory.differences(each, leaks=self._leaks)
                except (Discarded, Refused, Ended):
                    continue
            return self._laboratory.differences(trial, leaks=self._leaks)
        except (Discarded, Refused):
            return []
        except Ended as ended:
            return [_difference(ended)]
        finally:
            self._laboratory.haste = haste
            if fresh:
                self._laboratory.fresh()


def _firsts(found: Sequence[Divergence]) -> list[Divergence]:
    """The first difference in each observable."""
    firsts: dict[str, Divergence] = {}
    for each in found:
        firsts.setdefault(each.observable, each)
    return list(firsts.values())


def _difference(ended: Ended) -> Divergence:
    """The end of a process as a difference from plain PyTorch."""
    observable = "error"  # it was ended: for what it wrote, answered or did to the harness
    if isinstance(ended.error, DeviceTimeout):
        observable = "hang"
    elif isinstance(ended.error, DeviceDied):
        observable = "crash"
    return Divergence(0, observable, str(ended), ended.error.phase, ended=ended.error)


_VERDICTS = {"crash": Verdict.CRASH, "hang": Verdict.TIMEOUT}


def _finding(
    trial: Trial, before: list[Trial], found: list[Divergence], count: int, *, repeats: bool = True
) -> Finding:
    """The differences that were found in a trial as one finding."""
    observable = found[0].observable
    message = "; ".join(dict.fromkeys(each.text for each in found[:4]))
    verdict = _VERDICTS.get(observable, Verdict.FAIL)
    if not repeats:
        verdict, message = Verdict.FLAKY, f"once, and not again in a fresh process: {message}"
    elif before:
        message = f"after {len(before)} other trials in the same process: {message}"
    return Finding(trial, observable, found[0].phase, verdict.value, message, count, tuple(before), found[0].ended)
