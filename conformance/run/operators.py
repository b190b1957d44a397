"""Cells of ``operators.correct``: operators of one theme are drawn, and tried on samples that are varied."""

from __future__ import annotations

import itertools
import random
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.api import features
from conformance.api.errors import ConformanceFailure, DeviceEnded, SubjectError
from conformance.api.fingerprint import fingerprint
from conformance.api.verdicts import NotExercised, Verdict
from conformance.generate.axes import PLAIN
from conformance.generate.budget import Share
from conformance.generate.places import sizes_of
from conformance.operators.common import COMMON
from conformance.operators.table import Outcome, Tried
from conformance.operators.together import Draw, Drawn
from conformance.operators.trial import DECLARED_MISSING, LEFT, UNSTABLE
from conformance.run.cell_context import CellContext
from conformance.toolchains import toolchain_named

#: How many samples of an operator are tried before another is drawn: the first is PyTorch's own, the others are varied.
SAMPLES_OF_A_DRAW = 3
#: The same of a common one when it is drawn first: what is wrong altogether shows in one, and many are seen early.
SAMPLES_OF_THE_FIRST_DRAW = 1
#: Of the draws of an operator that takes float32, so many are in float32 at least.
_OF_FLOATS = 0.4
_VERDICTS = {
    Outcome.CRASHED: Verdict.CRASH,
    Outcome.TIMEOUT: Verdict.TIMEOUT,
    Outcome.WRONG: Verdict.FAIL,
    Outcome.FAILED: Verdict.FAIL,
}
#: The beginnings of reasons for which a sample judges nobody, and what a report calls them.
_DISCARDED = {"not valid": "invalid", UNSTABLE: "unstable", DECLARED_MISSING: "declared missing", LEFT: LEFT}
#: Where a backend takes little of what is drawn, so many times as many are seen as it would have to be tried on.
_SEEN_FOR_ONE_TRIED = 3


def try_operators(context: CellContext) -> None:
    """Try operators of the cell's theme until its share of the budget is used up.

    Raises ConformanceFailure, DeviceDied or DeviceTimeout for the gravest finding; NotExercised where PyTorch's samples
    cannot be made here, and where none could be tried.
    """
    cell = context.cell
    try:
        operators = context.operators.themes()[cell.theme]
    except SubjectError as error:
        needed = "pip install expecttest numpy brings what they need"
        raise NotExercised(f"the samples of PyTorch's own tests cannot be imported: {error.text}. {needed}") from error
    share = context.budget.for_programs(context.cells_that_share)
    found = _Found(zlib.crc32(f"{context.seed} {cell.clause.id} {cell.theme}".encode()))
    modes = ["inference"]
    traits = toolchain_named(cell.clause.toolchain).programs
    if traits is not None and traits.keeps_gradients and context.backend.has(features.training):
        modes += ["backward", "backward"]  # which shows what the way forward gives, too
    began = time.monotonic()
    try:
        for drawn in context.operators.varied(_drawn(operators, found.seed), modes=modes):
            found.add(drawn)
            if found.is_enough(share, time.monotonic() - began) or found.is_in_vain(len(operators)):
                break
    finally:
        found.seconds = time.monotonic() - began
        context.record.generated = found.as_row()
    context.record.note(f"{len(found.met)} of the {len(operators)} operators of {cell.theme} were tried.")
    found.judge(context)


def _drawn(operators: Mapping[str, list[str]], seed: int) -> Iterator[Draw]:
    """Operators, for ever: the common ones, then in turns one of all and a common one, where each comes once before any
    comes again. Half of the time the dtype is float32, where an operator has that."""
    draw = random.Random(seed)
    names = sorted(operators)
    common = [name for name in names if name in COMMON]
    first = ((name, SAMPLES_OF_THE_FIRST_DRAW) for name in draw.sample(common, len(common)))
    every = _again_and_again(names, draw)
    turns = zip(every, _again_and_again(common, draw), strict=False) if common else zip(every, strict=False)
    later = ((name, SAMPLES_OF_A_DRAW) for turn in turns for name in turn)
    for name, count in itertools.chain(first, later):
        dtypes = operators[name]
        dtype = "float32" if "float32" in dtypes and draw.random() < _OF_FLOATS else draw.choice(dtypes)
        yield Draw(name, dtype, draw.getrandbits(32), count)


def _again_and_again(names: Sequence[str], draw: random.Random) -> Iterator[str]:
    while names:
        yield from draw.sample(names, len(names))


class _Found:
    """The counts of a cell's samples, and its findings."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.tried = 0
        self.seconds = 0.0
        self.met: set[str] = set()
        self._discarded: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._values: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._findings: dict[str, dict[str, Any]] = {}
        self._gravest: tuple[Tried, Verdict] | None = None

    def add(self, drawn: Drawn) -> None:
        """Count a sample, by its outcome."""
        operators, dtype, sample, tried = drawn
        if tried.outcome is Outcome.NOT_APPLICABLE:
            names = (name for beginning, name in _DISCARDED.items() if tried.message.startswith(beginning))
            self._discarded[next(names, "PyTorch's")] += 1
            return
        if tried.outcome is Outcome.REFUSED:
            self._refused.update(operators)
            return
        self.tried += 1
        self.met.update(operators)
        sizes = {f"size={name}" for shape in sample["shapes"] for name in sizes_of(shape)}
        values = sorted({*sample["values"], *sizes, f"dtype={dtype}", *(f"operator={name}" for name in operators)})
        self._values.update(values)
        self._pairs.update((one, other) for index, one in enumerate(values) for other in values[:index])
        if tried.outcome is not Outcome.RIGHT:
            self._note(drawn, values)

    def _note(self, drawn: Drawn, values: list[str]) -> None:
        operators, _, sample, tried = drawn
        verdict = _VERDICTS[tried.outcome]
        cause = f"{' beside '.join(operators)} / {tried.observable}"
        odd = [each for each in values if each not in PLAIN and not each.startswith("operator=")]
        if cause in self._findings:
            known = self._findings[cause]
            known["count"] += 1
            known["axes"] = [each for each in known["axes"] if each in odd]
            return
        if self._gravest is None or _gravity(verdict) < _gravity(self._gravest[1]):
            self._gravest = tried, verdict
        self._findings[cause] = {
            "cause": cause,
            "operators": list(operators),
            "axes": odd,
            "observable": tried.observable,
            "count": 1,
            "phase": tried.phase,
            "verdict": verdict.value,
            "message": f"{sample['call']}: {tried.message}",
            "source": f"{sample['call']}  # {', '.join(sample['values'])}",
            "inputs": list(sample["values"]),
            "fingerprint": fingerprint("", verdict.value, tried.phase, cause),
        }

    def is_enough(self, share: Share, seconds: float) -> bool:
        """Whether the share is used up, by samples that were tried, or by many that the backend left to PyTorch."""
        seen = (self.tried + self._discarded[LEFT]) // _SEEN_FOR_ONE_TRIED
        return share.is_used_up(max(self.tried, seen), 0, seconds)

    def is_in_vain(self, operators: int) -> bool:
        """Whether the cell should give up: no sample of a whole round of operators has judged the backend."""
        fruitless = self._discarded.total() + self._refused.total()
        return not self.tried and fruitless >= SAMPLES_OF_A_DRAW * operators

    def judge(self, context: CellContext) -> None:
        """Raise what the gravest finding comes to; NotExercised where nothing was tried and nothing refused."""
        if self._gravest is None:
            if not self.tried and not self._refused:
                raise NotExercised(f"no sample could be tried: {dict(self._discarded)}")
            return
        tried, verdict = self._gravest
        context.ledger.phase = tried.phase
        if isinstance(tried.ended, DeviceEnded) and verdict is not Verdict.FAIL:
            raise tried.ended
        raise ConformanceFailure("\n".join(map(_told, self._findings.values())), tried.phase)

    def as_row(self) -> dict[str, Any]:
        """The field ``generated`` of the cell's row."""
        values = sorted(self._values)
        return {
            "seed": self.seed,
            "tried": self.tried,
            "discarded": dict(self._discarded),
            "refused": dict(self._refused),
            "seconds": round(self.seconds, 3),
            "values": values,
            "counts": [self._values[each] for each in values],
            "pairs": [[self._pairs[one, other] for other in values[:index]] for index, one in enumerate(values)],
            "findings": list(self._findings.values()),
        }


def _gravity(verdict: Verdict) -> int:
    return (Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL).index(verdict)


def _told(finding: Mapping[str, Any]) -> str:
    often = f" ({finding['count']} samples)" if finding["count"] > 1 else ""
    return f"{finding['cause']}{often}: {finding['message']}"
