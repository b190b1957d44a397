"""The search: trials are drawn, played and judged; what fails is made smaller, tried alone, and kept.

Hypothesis draws and shrinks. A failure is told from others by what is observable of it, so that each kind is made
smaller by itself. What is found is confirmed in a process of its own: alone, or after as few of the trials before it as
make it fail again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from conformance._util.files import write_atomically
from conformance.api.errors import DeviceTimeout
from conformance.api.verdicts import Verdict
from conformance.generate.budget import Share
from conformance.generate.judge import Difference
from conformance.generate.laboratory import Discarded, Ended, Laboratory, Refused
from conformance.generate.program import Trial, as_plain, trial_from_plain
from conformance.generate.tally import Finding, Tally

#: Seconds that making the findings of a round smaller may take, and those of a cell.
_SHRINKING_SECONDS = 12.0
_SHRINKING_SECONDS_OF_A_CELL = 40.0
#: A cell tells so many kinds of failures apart.
_MOST_KINDS = 12
#: Hypothesis is asked for so many at a time, which are drawn from a seed of their own.
_ROUND = 100
#: So many of the trials before a failure are played again at most, to see whether it takes them.
_MOST_BEFORE = 64


_NEVER = float("inf")


class _Enough(BaseException):
    """The budget is used up. No Exception, so that hypothesis does not take it for a failure."""


class _Failure(Exception):
    """A trial that failed; a class of its own for each kind, by which hypothesis tells them apart."""


@functools.cache
def _kind(name: str) -> type[_Failure]:
    return type(f"Failure_{name}", (_Failure,), {})


class Search:
    """The search of one cell.

    ``kept`` is where findings are kept, as a file, and looked for first; None: nowhere. ``told`` is called with each
    kind of failure as soon as one is found. With ``first_only`` the search ends at the first, which is left as it is.
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
        self._kept = kept
        self._told = told
        self._leaks = leaks
        self._first_only = first_only
        self._began = time.monotonic()
        self._until = _NEVER
        self._shrinking_left = _SHRINKING_SECONDS_OF_A_CELL
        self._number = 0
        #: The smallest trial of each kind, what was played before it, and what was found.
        self._smallest: dict[str, tuple[Trial, list[Trial], list[Difference]]] = {}
        self._counts: dict[str, int] = {}

    def run(self) -> None:
        """Search until the share is used up, and note everything in the tally."""
        for trial in self._remembered():
            self._try(trial)
        while not self._is_done():
            before = self._seen
            self._round()
            if before == self._seen:
                break  # there is nothing left that was not tried
        for name in self._smallest:
            self._confirm(name)
        self._tally.seconds = time.monotonic() - self._began
        self._remember()

    def _is_done(self) -> bool:
        if self._smallest and self._first_only:
            return True
        return self._share.is_used_up(self._tally.tried, time.monotonic() - self._began)

    @property
    def _seen(self) -> int:
        return self._tally.tried + self._tally.discarded.total() + self._tally.refused.total()

    def _round(self) -> None:
        self._number += 1
        self._until = _NEVER
        shrinks = not self._first_only and self._shrinking_left > 0

        @hypothesis.seed(self._tally.seed * 1009 + self._number)
        @settings(
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
            if self._until == _NEVER and self._is_done():
                raise _Enough
            if failing is not None and shrinks:
                if self._until == _NEVER:
                    self._until = time.monotonic() + min(_SHRINKING_SECONDS, self._shrinking_left)
                raise _kind(failing)
            if time.monotonic() > self._until:
                raise _Enough

        began = time.monotonic()
        # what failed is in self._smallest, whatever hypothesis thinks of how often it did
        with contextlib.suppress(_Enough, _Failure, ExceptionGroup, hypothesis.errors.HypothesisException):
            search()
        if self._until != _NEVER:
            self._shrinking_left -= time.monotonic() - began

    def _try(self, trial: Trial) -> str | None:
        """Play a trial; the kind of its failure where that is worth making smaller, or None."""
        shrinking = self._until != _NEVER
        if shrinking and time.monotonic() > self._until:
            raise _Enough
        try:
            found = self._laboratory.differences(trial, leaks=self._leaks)
        except Discarded as reason:
            if not shrinking:
                self._tally.discarded[str(reason)] += 1
            return None
        except Refused as operator:
            if not shrinking:
                self._tally.refused[str(operator)] += 1
            return None
        except Ended as ended:
            found = [_difference(ended)]
        if not shrinking:
            self._tally.count(trial)
        if not found:
            return None
        observable = found[0].observable
        explained = self._explained(trial, observable)
        if explained is not None and not shrinking:
            self._counts[explained] += 1
            return None
        name = f"{observable} {self._number}".replace(" ", "_")
        if name not in self._smallest:
            if len(self._smallest) >= _MOST_KINDS:
                return None
            self._told(f"{observable}: {found[0].text}")
            self._counts[name] = 1
        smallest = self._smallest.get(name)
        if smallest is None or trial.size <= smallest[0].size:
            self._smallest[name] = (trial, self._laboratory.played[:-1], found)
        return name

    def _explained(self, trial: Trial, observable: str) -> str | None:
        """Of an earlier round the failure with the same observable, whose operators the trial has too."""
        operators = {name for program in trial.programs for name in program.operators}
        for name, (smaller, _, found) in self._smallest.items():
            earlier = not name.endswith(f"_{self._number}")
            needed = {each for program in smaller.programs for each in program.operators}
            if earlier and found[0].observable == observable and needed <= operators:
                return name
        return None

    def _confirm(self, name: str) -> None:
        """Play what was found in a process of its own, alone or after what was played before it, and note it."""
        trial, before, found = self._smallest[name]
        repeated = self._again(trial, [])
        after = 0
        if not repeated and before:
            after = 1
            while after <= min(len(before), _MOST_BEFORE):
                repeated = self._again(trial, before[-after:])
                if repeated:
                    break
                after *= 2
        found = repeated or found
        observable = found[0].observable
        verdicts = {"crash": Verdict.CRASH, "hang": Verdict.TIMEOUT}
        verdict = verdicts.get(observable, Verdict.FAIL) if repeated else Verdict.FLAKY
        message = "; ".join(dict.fromkeys(each.text for each in found[:4]))
        if after and repeated:
            message = f"after {after} other trials in the same process: {message}"
        elif not repeated:
            message = f"once, and not again in a fresh process: {message}"
        self._tally.add(
            Finding(
                trial, observable, found[0].phase, verdict.value, message, self._counts[name], after, found[0].ended
            )
        )

    def _again(self, trial: Trial, before: list[Trial]) -> list[Difference]:
        self._laboratory.fresh()
        try:
            for each in before:
                try:
                    self._laboratory.differences(each, leaks=self._leaks)
                except (Discarded, Refused):
                    continue
            return self._laboratory.differences(trial, leaks=self._leaks)
        except (Discarded, Refused):
            return []
        except Ended as ended:
            return [_difference(ended)]
        finally:
            self._laboratory.fresh()

    # What was found before.

    def _remembered(self) -> Iterator[Trial]:
        if self._kept is None or not self._kept.is_file():
            return
        try:
            for plain in json.loads(self._kept.read_text())["trials"]:
                yield trial_from_plain(plain)
        except (ValueError, KeyError, TypeError):
            return  # of another release: what it found is found again, or not

    def _remember(self) -> None:
        if self._kept is None:
            return
        if self._tally.findings:
            document: dict[str, Any] = {"trials": [as_plain(each.trial) for each in self._tally.findings]}
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._kept, json.dumps(document, indent=1))
        else:
            self._kept.unlink(missing_ok=True)


def _difference(ended: Ended) -> Difference:
    """The end of a process as something that differs."""
    observable = "hang" if isinstance(ended.error, DeviceTimeout) else "crash"
    return Difference(0, observable, str(ended), ended.error.phase, ended.error)
