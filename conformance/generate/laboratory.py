"""The processes in which trials are played: plain PyTorch, the backend, and what may excuse it."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from conformance.api.errors import DeviceEnded, DeviceTimeout, GarbledValue, SubjectError
from conformance.compare.refusals import operator_named, says_that_it_refuses
from conformance.devices import Device
from conformance.generate.answers import Answer, answered, read
from conformance.generate.judge import Difference, Knowledge, Rules, differences
from conformance.generate.program import Trial, as_bytes

#: A process plays so many trials, then a fresh one goes on.
_TRIALS_OF_A_PROCESS = 400
#: So often what a difference is held against is computed with noise: at first, and where it still differs.
_FEW_NOISES, _NOISES = 2, 12
#: A hang takes so many times as long as PyTorch without the backend, at least.
_MUCH_SLOWER = 6
#: Seconds that plain PyTorch has for a trial.
CONTROL_SECONDS = 60.0
#: However much haste there is, a trial has so many seconds, and so many times what the slowest took that came back.
_LEAST_SECONDS = 2.0
_TIMES_THE_SLOWEST = 5.0
#: In which phase an operator may be refused.
_LOWERING = "lower"


class Discarded(Exception):
    """A trial that says nothing of a backend; the text says why, in a word."""


class Refused(Exception):
    """The backend refused an operator of the trial, by name."""


@dataclasses.dataclass
class Ended(Exception):
    """A process ended in a trial: what became of it, and in which phase."""

    error: DeviceEnded

    def __str__(self) -> str:
        return str(self.error)


class Laboratory:
    """The devices of one backend in which trials are played. Close it at the end.

    ``control`` opens a device without any backend, ``subject`` one with the backend; ``excuses`` are those whose
    failures excuse the same failure of the backend. ``seconds`` says how long a trial may take now.
    """

    def __init__(
        self,
        control: Callable[[], Device],
        subject: Callable[[], Device],
        excuses: Sequence[Callable[[], Device]],
        *,
        rules: Rules,
        seconds: Callable[[], float],
        timed_out: Callable[[], None],
    ) -> None:
        self._open_control = control
        self._open_subject = subject
        self._open_excuses = excuses
        self.rules = rules
        self._seconds = seconds
        self._timed_out = timed_out
        self._control: Device | None = None
        self._subject: Device | None = None
        #: Where models are lowered for the process in which they are called.
        self._elsewhere: Device | None = None
        self._excuses: list[Device | None] = [None] * len(excuses)
        #: The part of its time that a trial has. Less than all of it never ends one that takes no longer than others.
        self.haste = 1.0
        self._slowest = 0.0
        #: What the process with the backend has played, in order.
        self.played: list[Trial] = []

    def close(self) -> None:
        """End the processes."""
        for device in (self._control, self._subject, self._elsewhere, *self._excuses):
            if device is not None:
                device.end()
        self._control = self._subject = self._elsewhere = None
        self._excuses = [None] * len(self._excuses)

    def fresh(self) -> None:
        """Let the next trial have processes of its own."""
        for device in (self._subject, self._elsewhere):
            if device is not None:
                device.end()
        self._subject = self._elsewhere = None
        self.played = []

    def warm(self) -> None:
        """Let the processes be made, side by side."""
        if self._control is None:
            self._control = self._open_control()
            self._control.start()
        if self._subject is None:
            self._subject = self._open_subject()
            self._subject.start()

    def differences(self, trial: Trial, *, leaks: bool = False) -> list[Difference]:
        """In what the backend differs from plain PyTorch, and nobody excuses it.

        Raises Discarded, Refused, and Ended where its process ended.
        """
        if len(self.played) >= _TRIALS_OF_A_PROCESS:
            self.fresh()
        self.warm()
        data = as_bytes(trial)
        eager, answer = self._side_by_side(trial, data, leaks=leaks)
        if isinstance(answer, Answer) and answer.rows == eager.rows and _first_call(trial) not in eager.failed:
            return []  # bit by bit, as most are
        known, takes = self._known(trial, eager)
        if isinstance(answer, DeviceEnded):
            if isinstance(answer, DeviceTimeout) and self.haste >= 1:
                self._timed_out()
            self._expect_no_excuse_for_end(data, answer)
            raise Ended(answer) from answer
        try:
            if not isinstance(answer, Answer):
                raise answer
            actual = read(answer, trial)
        except (SubjectError, GarbledValue) as error:
            # the backend could not be loaded, something outside of the steps raised, or no device of ours says this
            return [Difference(0, "error", str(error), error.phase or "run")]
        if not differences(trial, known, actual, self.rules):
            if not takes:
                raise Discarded("invalid")  # both raise
            return []
        self._expect_not_refused(trial, actual)
        as_written = zip(known.eager, actual, strict=False)
        due = {number for number, rows in enumerate(as_written) if all("raised" in each for each in rows)}
        trial, data, known = self._without_dead_errors(trial, data, known, actual, leaks=leaks)
        known, found = self._beyond_rounding(trial, data, known, actual)
        # with dead code left out in one step and not in another, each is right
        found = [each for each in found if each.observable != "error" or each.step not in due]
        return self._not_excused(trial, data, known, found, leaks=leaks) if found else []

    def _side_by_side(
        self, trial: Trial, data: bytes, *, leaks: bool
    ) -> tuple[Answer, Answer | DeviceEnded | SubjectError | GarbledValue]:
        """What eager PyTorch and the backend say of a trial, which both play at the same time, or what became of the
        backend. Raises Discarded where the process of eager PyTorch ended."""
        self.played.append(trial)
        assert self._subject is not None
        answer: Answer | DeviceEnded | SubjectError | GarbledValue
        self._ask_control("shadow", trial=data, leaks=leaks)
        try:
            moved = {"artifacts": self._lowered_elsewhere(data)} if trial.is_lowered_elsewhere else {}
            began = time.monotonic()
            answer = answered(self._subject.call("play", "run", self._allowed(), trial=data, leaks=leaks, **moved))
            self._slowest = max(self._slowest, time.monotonic() - began)
        except (DeviceEnded, GarbledValue) as error:
            self.fresh()
            answer = error
        except SubjectError as error:
            answer = error
        except BaseException:
            self.close()  # eager PyTorch has an answer for which nobody waits any more
            raise
        return answered(self._answer_of_control()), answer

    def _lowered_elsewhere(self, data: bytes) -> list[bytes]:
        """What the trial's models are that a process lowers which calls none. Raises what its device does."""
        if self._elsewhere is None:
            self._elsewhere = self._open_subject()
        lowered = self._elsewhere.call("artifacts", "lower", self._allowed(), trial=data)
        if not isinstance(lowered, list) or not all(isinstance(each, bytes) for each in lowered):
            raise GarbledValue(f"expected what was lowered as a list of bytes, found {type(lowered).__name__}")
        return lowered

    def _allowed(self) -> float:
        """Seconds that a trial has now."""
        allowed = self._seconds()
        return min(allowed, max(allowed * self.haste, _LEAST_SECONDS, _TIMES_THE_SLOWEST * self._slowest))

    @staticmethod
    def _known(trial: Trial, eager: Answer) -> tuple[Knowledge, bool]:
        """What eager PyTorch does, and whether it takes the first call. Raises Discarded where it makes no model."""
        if any(trial.steps[number].action in ("model", "weights") for number in eager.failed):
            raise Discarded("invalid")
        return Knowledge(read(eager, trial)), _first_call(trial) not in eager.failed

    def _beyond_rounding(
        self, trial: Trial, data: bytes, known: Knowledge, actual: Sequence[Any]
    ) -> tuple[Knowledge, list[Difference]]:
        """What differs by more than rounding may do, and what it was held against.

        Most differences are told from rounding by a few computations with noise; what is left takes all of them.
        Raises Discarded where the program is another one in 64 bits.
        """
        if any("random" in program.marks for program in trial.programs):
            return known, differences(trial, known, actual, self.rules)
        found: list[Difference] = []
        for noises in (_FEW_NOISES, _NOISES):
            known = self._exact(trial, data, known.eager, noises)
            found = differences(trial, known, actual, self.rules)
            if not found:
                break
        return known, found

    def _exact(self, trial: Trial, data: bytes, eager: list[dict[str, Any]], noises: int) -> Knowledge:
        """What is right in 64 bits, and how sure that is. Raises Discarded where the program is another one there."""
        self._ask_control("know", trial=data, coarsest=trial.coarsest(), noises=noises)
        exact, *noisy = (read(answered(each), trial) for each in self._answer_of_control())
        for rows in (exact, *noisy):
            if any(("raised" in one) != ("raised" in two) for one, two in zip(eager, rows, strict=False)):
                raise Discarded("unstable")
        return Knowledge(eager, exact, noisy)

    def _ask_control(self, verb: str, **arguments: Any) -> None:
        self.warm()
        assert self._control is not None
        try:
            self._control.ask(verb, "run", CONTROL_SECONDS, **arguments)
        except DeviceEnded:
            self._control = None
            raise Discarded("PyTorch's") from None

    def _answer_of_control(self) -> Any:
        assert self._control is not None
        try:
            return self._control.answer(CONTROL_SECONDS)
        except DeviceEnded:
            self._control = None
            raise Discarded("PyTorch's") from None

    def _expect_not_refused(self, trial: Trial, actual: Sequence[Any]) -> None:
        for step, row in zip(trial.steps, actual, strict=False):
            raised = row.get("raised")
            backward = step.call is not None and step.call.backward
            if raised is None or not (row["phase"] == _LOWERING or _raised_by_lowering(raised, backward=backward)):
                continue
            operator = operator_named(raised["text"], _names_in(trial))
            if operator is not None:
                raise Refused(operator)

    def _without_dead_errors(
        self, trial: Trial, data: bytes, known: Knowledge, actual: Sequence[Any], *, leaks: bool
    ) -> tuple[Trial, bytes, Knowledge]:
        """What the backend is held against: the trial without dead code where eager PyTorch raises only in that, and
        the backend does not. A compiler may leave out what no result needs, with the error that it would raise."""
        rows = zip(known.eager, actual, strict=False)
        if not any("raised" in one and "raised" not in other for one, other in rows):
            return trial, data, known
        needed = trial.without_dead_code()
        data_needed = as_bytes(needed)
        self._ask_control("shadow", trial=data_needed, leaks=leaks)
        without, _ = self._known(needed, answered(self._answer_of_control()))
        if any("raised" in one and "raised" not in two for one, two in zip(known.eager, without.eager, strict=True)):
            return needed, data_needed, without
        return trial, data, known

    def _not_excused(
        self, trial: Trial, data: bytes, known: Knowledge, found: list[Difference], *, leaks: bool
    ) -> list[Difference]:
        for place, opened in enumerate(self._open_excuses):
            device = self._excuses[place] = self._excuses[place] or opened()
            try:
                rows = read(answered(device.call("play", "run", CONTROL_SECONDS, trial=data, leaks=leaks)), trial)
            except (DeviceEnded, SubjectError, GarbledValue):
                device.end()
                self._excuses[place] = None
                raise Discarded("PyTorch's") from None
            excused = {(each.step, each.observable) for each in differences(trial, known, rows, self.rules)}
            found = [each for each in found if (each.step, each.observable) not in excused]
            if not found:
                raise Discarded("PyTorch's")
        return found

    def _expect_no_excuse_for_end(self, data: bytes, error: DeviceEnded) -> None:
        """Raise Discarded where PyTorch without the backend ends as well, or is nearly as slow on this machine now."""
        for place, opened in enumerate(self._open_excuses):
            device = self._excuses[place] = self._excuses[place] or opened()
            try:
                began = time.monotonic()
                device.call("play", "run", CONTROL_SECONDS, trial=data, leaks=False)
                if isinstance(error, DeviceTimeout) and time.monotonic() - began > error.seconds / _MUCH_SLOWER:
                    raise Discarded("slow") from error
            except DeviceEnded:
                self._excuses[place] = None
                raise Discarded("PyTorch's") from error
            except SubjectError:
                continue


def _first_call(trial: Trial) -> int:
    """The number of the first step that is a call; -1 where there is none."""
    return next((number for number, step in enumerate(trial.steps) if step.call is not None), -1)


def _raised_by_lowering(raised: dict[str, Any], *, backward: bool) -> bool:
    """Whether an exception of a call is one of lowering: some compilers begin at a call. What they compile for the way
    back nobody wraps, and it is told by a class that says that something is not supported."""
    classes = (raised["type"], *raised["bases"])
    failed = any(name.endswith("BackendCompilerFailed") for name in classes)
    return failed or (backward and says_that_it_refuses(classes))


def _names_in(trial: Trial) -> set[str]:
    """Names of operators in a trial, as errors may have them."""
    text = "\n".join(program.source() for program in trial.programs)
    names = set(re.findall(r"[a-z_][a-z_0-9]*", text)) | {
        name for program in trial.programs for name in program.operators
    }
    if any(step.action == "call" for step in trial.steps):
        names |= {"select", "slice", "copy", "t", "_convolution", "convolution", "native_layer_norm", "size"}
    return names
