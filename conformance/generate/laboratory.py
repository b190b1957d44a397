"""The processes in which trials are played: plain PyTorch, the backend, and what may excuse it."""

from __future__ import annotations

import dataclasses
import itertools
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from conformance.api.errors import DeviceEnded, DeviceTimeout, GarbledValue, HarnessError, SubjectError
from conformance.compare.refusals import operator_refused, says_that_it_refuses
from conformance.devices import Device
from conformance.generate.answers import Answer, answered, read
from conformance.generate.judge import Divergence, Knowledge, Rules, differences
from conformance.generate.serialization import as_bytes
from conformance.generate.steps import Trial

#: How many trials a process plays before a fresh one takes its place.
_TRIALS_OF_A_PROCESS = 400
#: How often a trial is computed with noise to explain a difference: at first, and where that did not explain it.
_FEW_NOISES, _NOISES = 2, 12
#: Seconds that plain PyTorch has for a trial.
CONTROL_SECONDS = 60.0
#: However much its time is shortened, a trial has this many seconds, and this many times what the slowest took so far.
_LEAST_SECONDS = 2.0
_TIMES_THE_SLOWEST = 5.0
#: Seconds in which failures of a backend are made smaller, all cells together, where the budget is a time: that of a
#: backend which is right in nearly everything is more than enough, one that fails everywhere is not waited for.
_PATIENCE = 60.0
#: What may be wrong in a result, as :class:`conformance.generate.judge.Divergence` names it.
_OF_RESULTS = ("values", "shape", "dtype")
#: The phase in which an operator may be refused.
_LOWERING = "lower"
#: The phase in which a device loads what it is to be.
_REGISTERING = "register"


class Discarded(Exception):
    """A trial by which no backend can be judged; the text says why, in a word."""


class Refused(Exception):
    """The backend refused an operator of the trial, by name."""


@dataclasses.dataclass
class Ended(Exception):
    """The process with the backend ended during a trial; the error says how, and in which phase."""

    error: DeviceEnded

    def __str__(self) -> str:
        return str(self.error)


class Laboratory:
    """The devices of one backend in which trials are played. Close it at the end.

    ``control`` opens a device without any backend, ``subject`` one with the backend, ``elsewhere`` another one where
    models are lowered that the first calls; ``excuses`` are those whose failures excuse the same failure of the
    backend. ``seconds`` says how long a trial may take now. Unless the backend ``may_refuse`` operators, every error of
    lowering is a difference.
    """

    def __init__(
        self,
        control: Callable[[], Device],
        subject: Callable[[], Device],
        elsewhere: Callable[[], Device],
        excuses: Sequence[Callable[[], Device]],
        *,
        rules: Rules,
        seconds: Callable[[], float],
        timed_out: Callable[[], None],
        may_refuse: bool = True,
    ) -> None:
        self._open_control = control
        self._open_subject = subject
        self._open_elsewhere = elsewhere
        self._open_excuses = excuses
        self.rules = rules
        self._seconds = seconds
        self._timed_out = timed_out
        self._may_refuse = may_refuse
        self._control: Device | None = None
        self._subject: Device | None = None
        #: Where models are lowered for the process in which they are called.
        self._elsewhere: Device | None = None
        self._excuses: list[Device | None] = [None] * len(excuses)
        #: The part of its time limit that a trial has; see :meth:`_allowed` for what it has at least.
        self.haste = 1.0
        #: Seconds that are left for making failures smaller where the budget is a time.
        self.patience = _PATIENCE
        self._slowest = 0.0
        #: What the process with the backend has played, in order; of one that ended, until the next is started.
        self.played: list[Trial] = []
        #: The names in what it has taken, and the operators that a process refused which had played nothing else.
        self._taken: set[str] = set()
        self._refused_alone: set[str] = set()

    def close(self) -> None:
        """End the processes."""
        for device in (self._control, self._subject, self._elsewhere, *self._excuses):
            if device is not None:
                device.end()
        self._control = self._subject = self._elsewhere = None
        self._excuses = [None] * len(self._excuses)

    def fresh(self) -> None:
        """End the processes with the backend, so that the next trial is played in fresh ones."""
        for device in (self._subject, self._elsewhere):
            if device is not None:
                device.end()
        self._subject = self._elsewhere = None

    def warm(self) -> None:
        """Start the processes that do not run yet, side by side."""
        if self._control is None:
            self._control = self._open_control()
            self._control.start()
        if self._subject is None:
            self.played, self._taken = [], set()
            self._subject = self._open_subject()
            self._subject.start()

    def differences(self, trial: Trial, *, leaks: bool = False) -> list[Divergence]:
        """The differences between the backend and plain PyTorch in a trial that nothing excuses.

        Raises Discarded where the trial cannot judge the backend, Refused where the backend refused an operator, and
        Ended where its process ended.
        """
        if len(self.played) >= _TRIALS_OF_A_PROCESS:
            self.fresh()
        self.warm()
        data = as_bytes(trial)
        eager, answer = self._side_by_side(trial, data, leaks=leaks)
        if isinstance(answer, Answer) and answer.rows == eager.rows and _first_call(trial) not in eager.failed:
            self._taken |= _names_in(trial)
            return []  # the same bit by bit, as in most trials
        known, takes = self._known(trial, eager)
        if isinstance(answer, DeviceEnded):
            self._expect_no_excuse_for_end(data, answer)
            if isinstance(answer, DeviceTimeout) and self.haste >= 1:
                self._timed_out()
            raise Ended(answer) from answer
        try:
            if not isinstance(answer, Answer):
                raise answer
            actual = read(answer, trial)
        except (SubjectError, GarbledValue) as error:
            # the backend could not be loaded, something outside of the steps raised, or the answer is malformed
            return [Divergence(0, "error", str(error), error.phase or "run")]
        found = differences(trial, known, actual, self.rules)
        if not found:
            if not takes:
                raise Discarded("invalid")  # both raise
            return []
        refused = self._refused(trial, actual)
        if refused is not None and not any(each.step < refused[0] for each in found):
            return self._refused_at_last(trial, *refused, leaks=leaks)
        if refused is None:
            self._taken |= _names_in(trial)
        as_written = zip(known.eager, actual, strict=False)
        due = {number for number, rows in enumerate(as_written) if all("raised" in each for each in rows)}
        trial, data, known = self._without_dead_errors(trial, data, known, actual, leaks=leaks)
        known, found = self._beyond_rounding(trial, data, known, actual)
        # with dead code left out in one step and not in another, each is right
        found = [each for each in found if each.observable != "error" or each.step not in due]
        if refused is not None:
            # what comes before a refusal is right or wrong all the same
            found = [each for each in found if each.step < refused[0]]
            if not found:
                raise Refused(refused[1])
        return self._not_excused(trial, data, known, found, leaks=leaks) if found else []

    def _side_by_side(
        self, trial: Trial, data: bytes, *, leaks: bool
    ) -> tuple[Answer, Answer | DeviceEnded | SubjectError | GarbledValue]:
        """The answers of eager PyTorch and of the backend, which play a trial at the same time; in place of the
        backend's, the error that it ended with. Raises Discarded where the process of eager PyTorch ended."""
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
            self.close()  # nobody will read the answer of eager PyTorch
            raise
        return answered(self._answer_of_control()), answer

    def _lowered_elsewhere(self, data: bytes) -> list[bytes]:
        """What the trial's models are that a process lowers which calls none. Raises what its device does."""
        if self._elsewhere is None:
            self._elsewhere = self._open_elsewhere()
        lowered = self._elsewhere.call("artifacts", "lower", self._allowed(), trial=data)
        if not isinstance(lowered, list) or not all(isinstance(each, bytes) for each in lowered):
            raise GarbledValue(f"expected what was lowered as a list of bytes, found {type(lowered).__name__}")
        return lowered

    def _allowed(self) -> float:
        """The time limit of a trial now, in seconds."""
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
    ) -> tuple[Knowledge, list[Divergence]]:
        """The differences that rounding does not explain, after what they were compared with.

        A few computations with noise explain most differences; only what is left is computed as often as can be.
        Raises Discarded where the program takes another path in 64 bits, of which something is kept.
        """
        found: list[Divergence] = []
        for noises in (_FEW_NOISES, _NOISES):
            known = self._exact(trial, data, known.eager, noises)
            found = differences(trial, known, actual, self.rules)
            if not found:
                break
        return known, found

    def _exact(self, trial: Trial, data: bytes, eager: list[dict[str, Any]], noises: int) -> Knowledge:
        """The exact results, in 64 bits, and those with noise. Raises Discarded where a step raises there and not in
        eager PyTorch, or the other way round, and later ones go on with what it kept."""
        self._ask_control("know", trial=data, noises=noises)
        exact, *noisy = (read(answered(each), trial) for each in self._answer_of_control())
        unstable = {
            number
            for rows in (exact, *noisy)
            for number, (one, two) in enumerate(zip(eager, rows, strict=False))
            if ("raised" in one) != ("raised" in two)
        }
        if any(trial.keeps_values or trial.steps[number].call is None for number in unstable):
            raise Discarded("unstable")
        for rows in (exact, *noisy):
            for number in unstable:
                rows[number] = {}
        return Knowledge(eager, exact, noisy, frozenset(unstable))

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

    def _refused(self, trial: Trial, actual: Sequence[Any]) -> tuple[int, str] | None:
        """The number of the first step in which the backend refused an operator, and the operator."""
        for number, (step, row) in enumerate(zip(trial.steps, actual, strict=False)) if self._may_refuse else ():
            raised = row.get("raised")
            backward = step.call is not None and step.call.backward
            if raised is None or not (row["phase"] == _LOWERING or _raised_by_lowering(raised, backward=backward)):
                continue
            operator = operator_refused(raised["text"], (raised["type"], *raised["bases"]), _names_in(trial))
            if operator is not None:
                return number, operator
        return None

    def _refused_at_last(self, trial: Trial, step: int, operator: str, *, leaks: bool) -> list[Divergence]:
        """The difference that it is to refuse what the same process took before, and a fresh one takes. Raises Refused
        where that refuses it too, and where nothing was taken before."""
        name = operator.rpartition(":")[2]
        if name not in self._taken or name in self._refused_alone:
            raise Refused(operator)
        before = self.played
        self.fresh()
        try:
            self.differences(trial, leaks=leaks)
        except Refused:
            self._refused_alone.add(name)
            raise
        self.fresh()
        self.played = before
        text = f"step {step + 1}: {operator} is refused by a process that took it before; a fresh process takes all"
        return [Divergence(step, "error", text, _LOWERING)]

    def _without_dead_errors(
        self, trial: Trial, data: bytes, known: Knowledge, actual: Sequence[Any], *, leaks: bool
    ) -> tuple[Trial, bytes, Knowledge]:
        """What the backend is compared with: the trial without dead code, if eager PyTorch raises only in that and the
        backend does not raise. A compiler may leave out what no result needs, with the error that it would raise."""
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
        self, trial: Trial, data: bytes, known: Knowledge, found: list[Divergence], *, leaks: bool
    ) -> list[Divergence]:
        # a delegate is given arguments that do not require grad, and so is PyTorch where that explains more
        bare = trial if self.rules.gradients else trial.without_gradients()
        asked = [data] if bare == trial else [data, as_bytes(bare)]
        for (place, opened), played in itertools.product(enumerate(self._open_excuses), asked):
            device = self._excuses[place] = self._excuses[place] or opened()
            try:
                rows = read(answered(device.call("play", "run", CONTROL_SECONDS, trial=played, leaks=leaks)), trial)
            except (DeviceEnded, SubjectError, GarbledValue) as error:
                device.end()
                self._excuses[place] = None
                _expect_an_excuse(error)
                raise Discarded("PyTorch's") from None
            excused = {(each.step, each.observable, each.place) for each in differences(trial, known, rows, self.rules)}
            # a step that raises there shows nothing: what is wrong in another one would be wrong in this one; and the
            # dtype of what PyTorch folds is that of the default dtype when it does so, early or late
            unseen = {step for step, row in enumerate(rows) if "raised" in row}
            excused |= {
                (step, observable, place)
                for (_, observable, place), step in itertools.product(tuple(excused), range(len(rows)))
                if step in unseen or observable == "dtype"
            }
            # who calls a kernel that gives wrong results silently may see it refuse in other surroundings
            excused |= {(step, "error", "") for step, observable, _ in excused if observable in _OF_RESULTS}
            found = [each for each in found if (each.step, each.observable, each.place) not in excused]
            if not found:
                raise Discarded("PyTorch's")
        return found

    def _expect_no_excuse_for_end(self, data: bytes, error: DeviceEnded) -> None:
        """Raise Discarded where the process of PyTorch without the backend ends as well, or is nearly as slow."""
        for place, opened in enumerate(self._open_excuses):
            device = self._excuses[place] = self._excuses[place] or opened()
            try:
                began = time.monotonic()
                device.call("play", "run", CONTROL_SECONDS, trial=data, leaks=False)
                if isinstance(error, DeviceTimeout) and error.is_excused_by(time.monotonic() - began):
                    raise Discarded("slow") from error
            except DeviceEnded as end:
                self._excuses[place] = None
                _expect_an_excuse(end)
                # that PyTorch is slow explains no crash
                if isinstance(error, DeviceTimeout) or not isinstance(end, DeviceTimeout):
                    raise Discarded("PyTorch's") from error
            except SubjectError as raised:
                _expect_an_excuse(raised)


def _expect_an_excuse(error: DeviceEnded | SubjectError | GarbledValue) -> None:
    """Raises HarnessError where what may excuse a failure could not be asked: that excuses nothing. The end of its
    process while it plays a trial is an answer."""
    if not isinstance(error, DeviceEnded) or error.phase == _REGISTERING:
        raise HarnessError(f"PyTorch without the backend could not be asked what it does in a trial: {error}")


def _first_call(trial: Trial) -> int:
    """The number of the first step that is a call; -1 where there is none."""
    return next((number for number, step in enumerate(trial.steps) if step.call is not None), -1)


def _raised_by_lowering(raised: dict[str, Any], *, backward: bool) -> bool:
    """Whether an exception of a call is one of lowering: some compilers begin at the first call. PyTorch wraps their
    errors, but not those of compiling the backward pass, which are known by a class that says "not supported"."""
    classes = (raised["type"], *raised["bases"])
    failed = any(name.endswith("BackendCompilerFailed") for name in classes)
    return failed or (backward and says_that_it_refuses(classes))


def _names_in(trial: Trial) -> set[str]:
    """Names of operators that an error about a trial may give."""
    text = "\n".join(program.source() for program in trial.programs)
    names = set(re.findall(r"[a-z_][a-z_0-9]*", text)) | {
        name for program in trial.programs for name in program.operators
    }
    if any(step.action == "call" for step in trial.steps):
        names |= {"select", "slice", "copy", "t", "_convolution", "convolution", "native_layer_norm", "size"}
    return names
