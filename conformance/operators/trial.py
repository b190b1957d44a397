"""Trying an operator's samples on a backend: many in one process, and a fresh one where that dies or is in doubt."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from conformance.api import features
from conformance.api.errors import ConformanceFailure, DeviceEnded, DeviceTimeout, SubjectError
from conformance.api.verdicts import gist_of
from conformance.compare.comparison import assert_close, comparing
from conformance.compare.values import decode
from conformance.devices import Device
from conformance.operators import CONTROL_SECONDS
from conformance.operators.statistics import BUDGET, errors_of, within_budget
from conformance.operators.table import Outcome, Tried, row_of

#: A process serves so many samples, then a fresh one goes on: what lowered modules leave behind must not pile up.
_BATCH = 200
#: Outcomes that a process may owe to an earlier sample.
_DOUBTFUL = (Outcome.CRASHED, Outcome.WRONG, Outcome.FAILED)
#: The feature that a dtype needs.
_FEATURES = {
    "float64": features.float64,
    "float16": features.half_precision,
    "bfloat16": features.half_precision,
    "int64": features.integers,
    "int32": features.integers,
    "bool": features.booleans,
    "complex64": features.complex_numbers,
}


class OperatorTrial:
    """The processes in which one backend's operators are tried. Close it at the end.

    ``control`` and ``subject`` make a device without the backend and one with it; ``seconds`` says how long a sample
    may take now, and ``timed_out`` is told of each that took longer; ``gist`` takes
    away what a toolchain puts around an error.
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
        self._control: Device | None = None
        self._subject: Device | None = None
        self._served = 0

    def rows(self, operator: str) -> list[dict[str, Any]]:
        """The rows of an operator, one for each dtype that PyTorch takes for it."""
        dtypes: list[str] = self._ask_control("operators")[operator]
        return [row_of(operator, dtype, list(self._tried(operator, dtype))) for dtype in dtypes]

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
            yield self._try_sample(sample, dtype)

    def _try_sample(self, sample: dict[str, Any], dtype: str) -> Tried:
        """What a sample comes to. Nobody is charged for what an earlier sample left behind in the process: a doubtful
        outcome counts only if it is that of a fresh process."""
        if "reason" in sample:
            return Tried(Outcome.NOT_APPLICABLE, sample["reason"])
        if self._served >= _BATCH:
            self._drop_subject()
        fresh = self._served == 0
        tried = self._attempt(sample, dtype)
        if fresh or tried.outcome not in _DOUBTFUL:
            return tried
        self._drop_subject()
        again = self._attempt(sample, dtype)
        if again.outcome in _DOUBTFUL:
            return again
        remark = f"{again.outcome.value} in a fresh process; {tried.outcome.value} in one that had run other operators"
        return Tried(again.outcome, f"{remark}: {tried.message}", again.errors)

    def _attempt(self, sample: dict[str, Any], dtype: str) -> Tried:
        if self._subject is None:
            self._subject = self._open_subject()
        self._served += 1
        try:
            program = self._ask_subject("lower_program", "lower", program=sample["program"], inputs=sample["inputs"])
            ran = self._ask_subject("run_program", "run", program=program, inputs=sample["inputs"])
            self._ask_subject("forget_program", "release", program=program)
        except SubjectError as error:
            return Tried(
                self._raised(error, sample, dtype), f"{error.phase}: {error.type}: {gist_of(error.text, self._gist)}"
            )
        except DeviceEnded as error:
            self._drop_subject()
            if isinstance(error, DeviceTimeout):
                self._timed_out()
                return Tried(Outcome.TIMEOUT, str(error))
            return Tried(Outcome.CRASHED, str(error))
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
        self._subject, self._served = None, 0

    def _raised(self, error: SubjectError, sample: dict[str, Any], dtype: str) -> Outcome:
        """Whether an exception is a refusal: see Outcome.REFUSED."""
        feature = _FEATURES.get(dtype)
        if error.phase == "run" and feature is not None and feature.name in self._missing:
            return Outcome.REFUSED
        named = any(_names(error.text, operator) for operator in sample["operators"])
        return Outcome.REFUSED if error.phase == "lower" and named else Outcome.FAILED

    def _judged(self, result: Any, sample: dict[str, Any]) -> Tried:
        expected = decode(sample["expected"])
        if not sample["settled"]:
            alike = _outline(result) == _outline(expected)
            message = "compared by dtype and shape only: the values are others at each call"
            return Tried(Outcome.RIGHT if alike else Outcome.WRONG, message)
        try:
            with comparing(self._tolerances):
                assert_close(result, expected, "result")
        except ConformanceFailure as failure:
            if _outline(result) != _outline(expected):
                return Tried(Outcome.WRONG, str(failure))
            errors = errors_of(result, expected)
            if sample.get("exact") is not None and within_budget(result, expected, decode(sample["exact"])):
                message = f"not farther from what it is in float64 than {BUDGET} times eager PyTorch: {failure}"
                return Tried(Outcome.RIGHT, message, errors)
            return Tried(Outcome.WRONG, str(failure), errors)
        return Tried(Outcome.RIGHT, errors=errors_of(result, expected))


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


def _outline(value: Any) -> Any:
    """The dtype and shape of a tensor, or of each of a tuple."""
    if isinstance(value, tuple):
        return [_outline(item) for item in value]
    return (str(value.dtype), tuple(value.shape)) if hasattr(value, "dtype") else type(value).__name__
