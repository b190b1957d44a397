"""Trying an operator's samples on a backend: many in one process, and a fresh one where that dies or is in doubt."""

from __future__ import annotations

import dataclasses
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from conformance.api import features
from conformance.api.errors import ConformanceFailure, DeviceEnded, DeviceTimeout, SubjectError
from conformance.api.verdicts import gist_of
from conformance.compare.comparison import assert_close, comparing
from conformance.compare.refusals import operator_named, said_by_itself, says_that_it_refuses
from conformance.compare.values import decode
from conformance.devices import Device
from conformance.operators import CONTROL_SECONDS, OF_DOUBLES
from conformance.operators.statistics import BUDGET, errors_of, unstable, within_budget
from conformance.operators.table import Outcome, Tried, row_of
from conformance.operators.together import Draw, Drawn, Group, Waiting, told_together

#: A process serves so many samples, then a fresh one goes on: what lowered modules leave behind must not pile up.
_BATCH = 200
#: So many of the samples before one are played again at most, to see whether it depends on them.
_MOST_BEFORE = 64
#: How the message begins of a sample that judges nobody, because the backend need not take it, or because of rounding.
DECLARED_MISSING, UNSTABLE = "declared missing", "unstable"
#: The same of one of which the backend has taken nothing.
LEFT = "not taken"
#: Outcomes that a process may owe to an earlier sample.
_DOUBTFUL = (Outcome.CRASHED, Outcome.WRONG, Outcome.FAILED)


class OperatorTrial:
    """The processes in which one backend's operators are tried. Close it at the end.

    ``control`` and ``subject`` make a device without the backend and one with it; ``seconds`` says how long a sample
    may take now, and ``timed_out`` is told of each that took longer; ``gist`` takes away what a toolchain puts around
    an error. Unless the backend ``may_refuse`` operators, every error of lowering is a failure.
    """

    def __init__(
        self,
        control: Callable[[], Device],
        subject: Callable[[], Device],
        *,
        seed: int,
        samples: int,
        missing_features: Mapping[str, str],
        tolerances: Mapping[str, tuple[float, float]],
        seconds: Callable[[], float],
        timed_out: Callable[[], None],
        gist: Callable[[str], str] = str,
        may_refuse: bool = True,
    ) -> None:
        self._open_control = control
        self._open_subject = subject
        self._seed = seed
        self._samples = samples
        self._missing = missing_features
        self._tolerances = tolerances
        self._seconds = seconds
        self._timed_out = timed_out
        self._gist = gist
        self._may_refuse = may_refuse
        self._control: Device | None = None
        self._subject: Device | None = None
        #: The samples that the process with the backend was asked, with their dtypes, in order.
        self._served: list[tuple[dict[str, Any], str]] = []

    def rows(self, operator: str) -> list[dict[str, Any]]:
        """The rows of an operator, one for each dtype that PyTorch takes for it."""
        dtypes: list[str] = self._ask_control("operators")[operator]
        return [row_of(operator, dtype, list(self._tried(operator, dtype))) for dtype in dtypes]

    def themes(self) -> dict[str, dict[str, list[str]]]:
        """The operators of each theme, with the dtypes in which PyTorch takes them.

        Raises SubjectError where PyTorch's samples cannot be imported, DeviceEnded where their process ends.
        """
        themes: dict[str, dict[str, list[str]]] = self._ask_control("operator_themes")
        return themes

    def varied(self, draws: Iterable[Draw], *, modes: Sequence[str]) -> Iterator[Drawn]:
        """Samples of operators, some of them varied (``varied_samples`` of a toolchain's verbs), and what each comes
        to on the backend: not applicable where PyTorch makes none. Several that can be are tried in one program, and
        by themselves where that is not right; those of a draw of which the backend takes nothing are left out."""
        waiting = Waiting()
        for draw in draws:
            for sample in self._made(draw, modes):
                if reason := self._judges_nobody(sample):
                    yield Drawn((draw.operator,), draw.dtype, sample, Tried(Outcome.NOT_APPLICABLE, reason))
                elif waiting.takes(draw, sample):
                    waiting.add(draw, sample)
                else:
                    drawn = self._alone(draw, sample)
                    yield drawn
                    if drawn.tried.message.startswith(LEFT):
                        break
            for group in waiting.due():
                for drawn in self._joined(group, waiting):
                    waiting.learn(drawn)
                    yield drawn

    def _made(self, draw: Draw, modes: Sequence[str]) -> Sequence[dict[str, Any]]:
        try:
            made: list[dict[str, Any]] = self._ask_control(
                "varied_samples", **dataclasses.asdict(draw), modes=list(modes)
            )
        except (DeviceEnded, SubjectError) as error:
            return [{"reason": f"PyTorch itself fails while the samples are made: {error}"}]
        return made

    def _judges_nobody(self, sample: Mapping[str, Any]) -> str:
        """Why a sample judges nobody, whatever the backend does; empty where it does judge."""
        if "reason" in sample:
            return str(sample["reason"])
        lacking = sorted(set(sample.get("needs", ())) & set(self._missing))
        if lacking:
            return f"{DECLARED_MISSING}: {', '.join(lacking)}"
        if sample.get("exact") is not None and unstable(decode(sample["expected"]), decode(sample["exact"])):
            return f"{UNSTABLE}: rounding decides about what is discrete in the result"
        return ""

    def _alone(self, draw: Draw, sample: dict[str, Any]) -> Drawn:
        before = list(self._served)
        tried = self._try_sample(sample, draw.dtype)
        if tried.is_right_alone:
            tried = self._after(before, lambda: self._confirmed(sample, self._attempt(sample, draw.dtype))) or tried
        if tried.outcome is Outcome.TIMEOUT:  # a busy machine must charge nobody
            again = self._attempt(sample, draw.dtype)
            tried = tried if again.outcome is Outcome.TIMEOUT else again
        return Drawn((draw.operator,), draw.dtype, sample, self._confirmed(sample, tried))

    def _joined(self, group: Group, waiting: Waiting) -> Iterator[Drawn]:
        """What the samples of a group come to in one program; where it is not right, those of each half of the group.
        Where it is wrong although both of these are right, that comes last."""
        if len(group) == 1:
            yield self._alone(*group[0])
            return
        before = list(self._served)
        tried = self._in_one_program(group)
        if tried.outcome is Outcome.RIGHT:
            yield from (Drawn((draw.operator,), draw.dtype, sample, Tried(Outcome.RIGHT)) for draw, sample in group)
            return
        if tried.outcome is Outcome.TIMEOUT:
            waiting.ask_for_less_than(len(group))
        middle = len(group) // 2
        halves = [*self._joined(group[:middle], waiting), *self._joined(group[middle:], waiting)]
        yield from halves
        if tried.outcome in _DOUBTFUL and all(each.tried.outcome is Outcome.RIGHT for each in halves):
            yield from self._wrong_together(group, before)

    def _wrong_together(self, group: Group, before: Sequence[tuple[dict[str, Any], str]]) -> Iterator[Drawn]:
        """What is wrong in one program of samples that are right by themselves, with as few of them as show it; or in
        one after others, of those that the process had been asked ``before``."""
        tried = self._in_one_fresh_program(group)
        if tried.outcome is Outcome.RIGHT:
            afterwards = self._after(before, lambda: self._in_one_program(group, confirm=True))
            if afterwards is not None:
                yield _drawn_together(group, afterwards)
        if tried.outcome not in _DOUBTFUL:
            return
        for each in list(group):
            fewer = [other for other in group if other is not each]
            if len(fewer) < 2:
                break
            without = self._in_one_fresh_program(fewer)
            if without.outcome in _DOUBTFUL:
                group, tried = fewer, without
        yield _drawn_together(group, tried)

    def _after(self, before: Sequence[tuple[dict[str, Any], str]], attempt: Callable[[], Tried]) -> Tried | None:
        """What an ``attempt`` that is right in a fresh process comes to after as few of the samples ``before`` it as
        make it wrong; None where none of them does."""
        count = 1
        while count <= min(len(before), _MOST_BEFORE):
            self._drop_subject()
            for each in before[-count:]:
                self._attempt(*each)
            tried = attempt()
            if tried.outcome in _DOUBTFUL:
                self._drop_subject()
                names = sorted({name for each, _ in before[-count:] for name in each["operators"]})
                text = f"right in a fresh process, and not after {count} other samples, of {', '.join(names)}"
                return dataclasses.replace(tried, message=f"{text}: {tried.message}")
            count *= 2
        return None

    def _in_one_fresh_program(self, group: Group) -> Tried:
        self._drop_subject()
        return self._in_one_program(group, confirm=True)

    def _in_one_program(self, group: Group, *, confirm: bool = False) -> Tried:
        """What a program of several samples comes to: not applicable where PyTorch makes none of them, and,
        if that is to be confirmed, where it does no better by itself."""
        try:
            program = self._program_of(group)
        except (DeviceEnded, SubjectError) as error:
            return Tried(Outcome.NOT_APPLICABLE, f"PyTorch itself fails: {error}")
        tried = self._attempt(program, "")
        return self._confirmed(program, tried) if confirm else tried

    def _program_of(self, group: Group) -> dict[str, Any]:
        samples = [sample for _, sample in group]
        programs, inputs = ([each[name] for each in samples] for name in ("program", "inputs"))
        program = self._ask_control("joined_program", programs=programs, inputs=inputs, mode=samples[0]["mode"])
        program["operators"] = sorted({name for each in samples for name in each["operators"]})
        program["members"] = list(zip(program["places"], samples, strict=True))
        return dict(program)

    def _confirmed(self, sample: dict[str, Any], tried: Tried) -> Tried:
        """What a sample came to; not applicable where PyTorch itself does no better, if that is not known yet."""
        if tried.outcome in (Outcome.RIGHT, Outcome.NOT_APPLICABLE) or not sample.get("unconfirmed"):
            return tried
        told = {name: sample[name] for name in ("program", "inputs", "expected", "mode", "settled")}
        began = time.monotonic()
        try:
            reason = self._ask_control("confirm_program", **told)
        except (DeviceEnded, SubjectError) as error:
            reason = f"PyTorch itself fails: {error}"
        seconds = time.monotonic() - began
        if not reason and isinstance(tried.ended, DeviceTimeout) and tried.ended.is_excused_by(seconds):
            reason = f"{tried.message}, and PyTorch by itself takes {seconds:.1f} s here"
        return Tried(Outcome.NOT_APPLICABLE, reason) if reason else tried

    def close(self) -> None:
        """End the processes."""
        for device in (self._control, self._subject):
            if device is not None:
                device.end()
        self._control = self._subject = None

    def _ask_control(self, verb: str, **arguments: Any) -> Any:
        if self._control is None:
            self._control = self._open_control()
        try:
            return self._control.call(verb, seconds=CONTROL_SECONDS, **arguments)
        except DeviceEnded:
            self._control = None
            raise

    def _tried(self, operator: str, dtype: str) -> Iterator[Tried]:
        try:
            samples = self._ask_control(
                "operator_samples", operator=operator, dtype=dtype, seed=self._seed, count=self._samples
            )
        except (DeviceEnded, SubjectError) as error:
            yield Tried(Outcome.NOT_APPLICABLE, f"PyTorch itself fails while the samples are made: {error}")
            return
        for sample in samples:
            if "reason" in sample:
                yield Tried(Outcome.NOT_APPLICABLE, sample["reason"])
            else:
                yield self._confirmed(sample, self._try_sample(sample, dtype))

    def _try_sample(self, sample: dict[str, Any], dtype: str) -> Tried:
        """What a sample comes to. Nobody is charged for what an earlier sample left behind in the process: a doubtful
        outcome counts only if it is that of a fresh process."""
        if len(self._served) >= _BATCH:
            self._drop_subject()
        fresh = not self._served
        tried = self._attempt(sample, dtype)
        if fresh or tried.outcome not in _DOUBTFUL:
            return tried
        # a control that fares no better costs less than a fresh process
        confirmed = self._confirmed(sample, tried)
        if confirmed.outcome is Outcome.NOT_APPLICABLE:
            return confirmed
        self._drop_subject()
        again = self._attempt(sample, dtype)
        if again.outcome in _DOUBTFUL:
            return again
        remark = f"{again.outcome.value} in a fresh process; {tried.outcome.value} in one that had run other operators"
        right = again.outcome is Outcome.RIGHT
        return Tried(again.outcome, f"{remark}: {tried.message}", again.errors, is_right_alone=right)

    def _attempt(self, sample: dict[str, Any], dtype: str) -> Tried:
        if self._subject is None:
            self._subject = self._open_subject()
        self._served.append((sample, dtype))
        mode = {"mode": sample["mode"]} if "mode" in sample else {}
        inputs = sample["inputs"]
        try:
            program = self._ask_subject("lower_program", "lower", program=sample["program"], inputs=inputs, **mode)
            ran = self._ask_subject("run_program", "run", program=program, inputs=inputs, **mode)
            self._ask_subject("forget_program", "release", program=program)
        except SubjectError as error:
            message = f"{error.phase}: {error.type}: {gist_of(error.text, self._gist)}"
            return Tried(self._raised(error, sample, dtype), message, observable="error", phase=error.phase)
        except DeviceEnded as error:
            self._drop_subject()
            if isinstance(error, DeviceTimeout):
                if "members" not in sample:
                    self._timed_out()
                return Tried(Outcome.TIMEOUT, str(error), observable="hang", phase=error.phase, ended=error)
            return Tried(Outcome.CRASHED, str(error), observable="crash", phase=error.phase, ended=error)
        if ran.get("left"):
            return Tried(Outcome.NOT_APPLICABLE, f"{LEFT}: the backend leaves all of it to PyTorch")
        tried = self._judged(decode(ran["result"]), sample)
        if "executed" not in ran:
            return tried
        return dataclasses.replace(tried, delegated=share_delegated(sample["work"], sample["around"], ran["executed"]))

    def _ask_subject(self, verb: str, phase: str, **arguments: Any) -> Any:
        assert self._subject is not None
        return self._subject.call(verb, phase=phase, seconds=self._seconds(), **arguments)

    def _drop_subject(self) -> None:
        if self._subject is not None:
            self._subject.end()
        self._subject, self._served = None, []

    def _raised(self, error: SubjectError, sample: dict[str, Any], dtype: str) -> Outcome:
        """Whether an exception is a refusal: see Outcome.REFUSED."""
        feature = features.OF_DTYPES.get(dtype)
        if not self._may_refuse:
            return Outcome.FAILED
        if error.phase == "run" and feature in self._missing:
            return Outcome.REFUSED
        classes = (error.type, *error.bases)
        said = said_by_itself(error.text, classes)
        named = any(_names(said, operator) for operator in sample["operators"]) or operator_named(said) is not None
        # what is compiled for the way back is compiled when it is run
        refuses = error.phase == "lower" or (sample.get("mode") == "backward" and says_that_it_refuses(classes))
        return Outcome.REFUSED if refuses and named else Outcome.FAILED

    def _judged(self, result: Any, sample: dict[str, Any]) -> Tried:
        if "members" in sample:
            return self._judged_together(result, sample["members"])
        expected = decode(sample["expected"])
        if not sample["settled"]:
            alike = _outline(result) == _outline(expected)
            message = "compared by dtype and shape only: the values are others at each call"
            outcome = Outcome.RIGHT if alike else Outcome.WRONG
            return Tried(outcome, message, observable="" if alike else "shape", phase="run")
        try:
            with comparing({**(OF_DOUBLES if "mode" in sample else {}), **self._tolerances}):
                assert_close(result, expected, "result")
        except ConformanceFailure as failure:
            if _outline(result) != _outline(expected):
                observable = "dtype" if _dtypes(result) != _dtypes(expected) else "shape"
                return Tried(Outcome.WRONG, str(failure), observable=observable, phase="run")
            errors = errors_of(result, expected)
            if _is_within_budget(result, expected, sample):
                message = f"not farther from what it is in float64 than {BUDGET} times eager PyTorch: {failure}"
                return Tried(Outcome.RIGHT, message, errors)
            return Tried(Outcome.WRONG, str(failure), errors, observable="values", phase="run")
        return Tried(Outcome.RIGHT, errors=errors_of(result, expected))

    def _judged_together(self, result: Any, members: Sequence[tuple[Sequence[int], dict[str, Any]]]) -> Tried:
        """The first of the samples in a program that is not right, if there is one."""
        if len(result) != sum(len(places) for places, _ in members):
            return Tried(Outcome.WRONG, f"{len(result)} results", observable="shape", phase="run")
        judged = (self._judged(tuple(result[place] for place in places), each) for places, each in members)
        return next((each for each in judged if each.outcome is not Outcome.RIGHT), Tried(Outcome.RIGHT))


def _drawn_together(group: Group, tried: Tried) -> Drawn:
    return Drawn(tuple(draw.operator for draw, _ in group), group[0][0].dtype, told_together(group), tried)


def share_delegated(work: Sequence[str], around: Sequence[str], executed: Sequence[str]) -> float | None:
    """Of the operators in ``work`` that eager PyTorch executes for a program, the share that is not among those that it
    still has ``executed`` with a backend; None where there are none. Those that only stand ``around`` an operator are
    no part of it: neither does a backend delegate more by computing them, nor less by leaving them to PyTorch."""
    own = (Counter(work) - Counter(around)).total()
    kept = (Counter(executed) - Counter(around)).total()
    return 1 - min(kept, own) / own if own else None


def _names(text: str, operator: str) -> bool:
    """Whether a text has an operator's name in it, and not as a part of another."""
    return re.search(rf"(?<![\w:]){re.escape(operator)}(?!\w)", text) is not None


def _is_within_budget(result: Any, expected: Any, sample: Mapping[str, Any]) -> bool:
    if sample.get("exact") is None:
        return False
    return within_budget(*map(_tensors, (result, expected, decode(sample["exact"]))))


def _tensors(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _dtypes(value: Any) -> list[str]:
    """The dtypes of a tensor, or of each of a tuple."""
    return [str(getattr(each, "dtype", type(each))) for each in _tensors(value)]


def _outline(value: Any) -> Any:
    """The dtype and shape of a tensor, or of each of a tuple."""
    if isinstance(value, tuple):
        return [_outline(item) for item in value]
    return (str(value.dtype), tuple(value.shape)) if hasattr(value, "dtype") else type(value).__name__
