"""The verdicts of cells, and how an exception, or none, becomes the outcome of a cell."""

from __future__ import annotations

import dataclasses
import enum
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from conformance.api.errors import (
    ConformanceFailure,
    DeviceDied,
    DeviceEnded,
    DeviceTimeout,
    HarnessError,
    SubjectError,
    TargetUnable,
)
from conformance.api.fingerprint import fingerprint

#: Characters of a message in a report's tables.
_LONGEST_LINE = 500


class Verdict(enum.Enum):
    """The result of a cell. The value is how reports write it."""

    PASS = "PASS"
    FAIL = "FAIL"
    CRASH = "CRASH"
    TIMEOUT = "TIMEOUT"
    UNSUPPORTED = "UNSUPPORTED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    NOT_EXERCISED = "NOT_EXERCISED"
    XFAIL = "XFAIL"
    XPASS = "XPASS"
    XFAIL_MISMATCH = "XFAIL_MISMATCH"
    FLAKY = "FLAKY"
    HARNESS_ERROR = "HARNESS_ERROR"
    LOST = "LOST"

    @property
    def is_breach(self) -> bool:
        """True when the backend is at fault, before expectations are held against it."""
        return self in (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT)

    @property
    def fails(self) -> bool:
        """True when a run with such a cell cannot succeed."""
        return self.is_breach or self in (Verdict.XPASS, Verdict.XFAIL_MISMATCH, Verdict.FLAKY, Verdict.HARNESS_ERROR)


class NotApplicable(Exception):
    """Raised by a clause that has no meaning for this backend or case; the text says why."""


class NotExercised(Exception):
    """Raised by a clause that the author gave no way to try; the text says what would open it."""


@dataclasses.dataclass
class Outcome:
    """A verdict with its circumstances: the phase, one line of why, and what a failure left behind.

    ``repeated`` is how often a failure happened again in the same way; ``attempts`` are the outcomes that disagreed,
    in their order, where the verdict is FLAKY.
    """

    verdict: Verdict
    phase: str = ""
    message: str = ""
    error: dict[str, Any] | None = None
    repeated: int = 0
    attempts: tuple[Outcome, ...] = ()

    def __str__(self) -> str:
        return f"{self.verdict.value}{f' in {self.phase}' if self.phase else ''}"

    def fingerprint(self, clause: str, case: str) -> str:
        """The fingerprint that it has as a failure of a clause in a case; a FLAKY one has that of its first attempt."""
        first = self.attempts[0] if self.attempts else self
        return fingerprint(clause, first.verdict.value, first.phase, first.message, first.error, case)


def flaky(attempts: tuple[Outcome, ...]) -> Outcome:
    """What a cell comes to whose attempts, the first of which failed, disagree."""
    first, *others = attempts
    then = ", then ".join(map(str, others))
    message = f"{first} at first, then {then}: {first.message}"
    return Outcome(Verdict.FLAKY, first.phase, message, first.error, attempts=attempts)


def row_fails(row: Mapping[str, Any]) -> bool:
    """Whether a run with a cell that has this row cannot succeed: its verdict fails, and is not tolerated."""
    return Verdict(row["verdict"]).fails and not row.get("expectation", {}).get("tolerated", False)


def outcome_of(error: BaseException | None, phase: str, gist: Callable[[str], str] = str) -> Outcome:
    """The outcome of a clause that ended with ``error`` (None: it returned) while ``phase`` was the last verb.

    ``gist`` strips from the text of an exception what the toolchain's part of PyTorch adds around it.
    """
    match error:
        case None:
            return Outcome(Verdict.PASS)
        case NotApplicable():
            return Outcome(Verdict.NOT_APPLICABLE, message=str(error))
        case NotExercised() | TargetUnable():
            return Outcome(Verdict.NOT_EXERCISED, message=str(error))
        case SubjectError():
            stack = _without_end(error.stack, error.text)
            details = {"type": error.type, "text": error.text, "stack": stack, "stderr": error.stderr}
            return Outcome(Verdict.FAIL, error.phase, f"{error.type}: {gist_of(error.text, gist)}", details)
        case DeviceDied():
            ended = {"signal": error.signal, "exit_code": error.exit_code}
            return Outcome(Verdict.CRASH, error.phase, str(error), ended | _left_behind(error))
        case DeviceTimeout():
            return Outcome(Verdict.TIMEOUT, error.phase, str(error), _left_behind(error))
        case DeviceEnded():
            return Outcome(Verdict.FAIL, error.phase, str(error), _left_behind(error))
        case AssertionError():
            when = (isinstance(error, ConformanceFailure) and error.phase) or phase
            return Outcome(Verdict.FAIL, when, one_line(str(error)), {"type": "assertion", "text": str(error)})
        case HarnessError():
            return Outcome(Verdict.HARNESS_ERROR, phase, one_line(str(error)), {"text": str(error)})
        case _:
            text = "".join(traceback.format_exception(error))
            return Outcome(Verdict.HARNESS_ERROR, phase, one_line(f"{type(error).__name__}: {error}"), {"text": text})


def _left_behind(error: DeviceEnded) -> dict[str, Any]:
    return {"stack": error.stack, "stdout": error.stdout, "stderr": error.stderr}


def _without_end(stack: str, text: str) -> str:
    """A stack trace without the text of the exception at its end, which a row has in a field of its own."""
    return stack.rstrip().removesuffix(text.rstrip()).rstrip(": ")


def gist_of(text: str, without: Callable[[str], str]) -> str:
    """What an exception says in one line, after ``without`` has stripped what its toolchain adds around it."""
    return one_line(without(text.partition("\nException raised from ")[0]))  # the rest are frames of C++


def one_line(text: str) -> str:
    """A text as one line of 500 characters at most."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())[:_LONGEST_LINE]
