"""The part of scripts that judge by the clause itself: the clause asks, and gets what the steps answered.

Copied into ``support.py``; see :mod:`conformance.standalone.reproducers._main`.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

from conformance.api.errors import ConformanceFailure, DeviceDied, DeviceEnded, SubjectError
from conformance.api.verdicts import NotApplicable, NotExercised
from conformance.compare.values import encode
from conformance.standalone.reproducers._main import LEFT_A_PROCESS, NotReproduced, StepReport

#: What each script has of its own: the verb of each step, in order.
VERBS: dict[int, str] = {}
#: The verbs that make something, which the steps keep and do not answer: its number stands for it.
KEPT: frozenset[str] = frozenset()
PROVIDED = frozenset({"VERBS", "KEPT", "PROVIDED"})


@dataclasses.dataclass
class CameTo(DeviceEnded):
    """A process did not end by itself; ``what`` it came to is said as by those who watched it."""

    what: str

    @property
    def what_happened(self) -> str:
        return f"the process {self.what} during {self.phase}"


class Replay:
    """The steps in their order. Asking beyond the last raises NotReproduced: there the clause failed when recorded."""

    def __init__(self, steps: dict[int, StepReport], encoded: tuple[str, ...] = ()) -> None:
        self._steps = steps
        #: The verbs that reply with a list of all that the step answered, encoded; others with the one answer.
        self._encoded = encoded
        self._next = 1

    def answer(self, verb: str, phase: str) -> tuple[Any, str]:
        """The reply to the next verb, and what was written to stderr. Raises what the step came to."""
        while verb != "register" and VERBS.get(self._next) == "register":
            self.answer("register", "register")
        number = self._next
        if number > len(VERBS):
            raise NotReproduced("the clause gets past the place where it failed")
        if VERBS[number] != verb or number not in self._steps:
            raise RuntimeError(f"the clause asks for {verb!r} as step {number}, which was not taken so")
        self._next += 1
        step = self._steps[number]
        if step.status is not None:
            raise DeviceDied(phase, step.status, stderr=step.stderr)
        if step.came_to:
            raise CameTo(phase, step.came_to, stderr=step.stderr)
        if step.raised:
            raise SubjectError(phase=phase, stderr=step.stderr, **step.raised)
        answers = step.answers
        if verb in self._encoded:
            return [encode(each) for each in answers], step.stderr
        unanswered = number if verb in KEPT else None
        return answers[0] if answers else unanswered, step.stderr

    def judge(self, clause: Callable[[], None]) -> None:
        """Call a clause. AssertionError when it fails where it was recorded to fail: after the last step."""
        try:
            clause()
        except ConformanceFailure as failure:
            if self._next <= len(VERBS):
                raise RuntimeError(f"the clause fails earlier, after step {self._next - 1}: {failure}") from failure
            raise
        except (NotApplicable, NotExercised) as reason:
            raise NotReproduced(f"the clause has nothing to say here: {reason}") from None


class Device:
    """A device whose answers are known."""

    def __init__(self, replay: Replay, runtime: str) -> None:
        self._replay = replay
        self.runtime = runtime

    def call(self, verb: str, /, phase: str | None = None, seconds: float | None = None, **arguments: Any) -> Any:
        """The reply to a verb."""
        value, stderr = self._replay.answer(verb, phase or verb)
        self.last_reply: Any = types.SimpleNamespace(warnings=(), stdout="", stderr=stderr)
        return value

    def release(self) -> None:
        """Release the modules."""
        self.call("release")

    def leave(self) -> None:
        """End as a script ends."""
        try:
            self.call("leave", phase="exit")
        except CameTo as ended:
            if ended.what == LEFT_A_PROCESS:
                raise ConformanceFailure("the process ended and left another one behind that it had started") from None
            raise
