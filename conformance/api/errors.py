"""What can go wrong in a cell, as exceptions. :mod:`conformance.api.verdicts` turns them into verdicts."""

from __future__ import annotations

import dataclasses
import signal as signals

#: A timeout judges the backend only if PyTorch without it is at least this many times as fast.
_MUCH_SLOWER = 6


class ConformanceFailure(AssertionError):
    """A clause found the backend in breach. The text says what was expected, what was found, and where.

    ``phase`` is when it happened, where that was before the last verb.
    """

    def __init__(self, text: str, phase: str | None = None) -> None:
        super().__init__(text)
        self.phase = phase


class LeftBehind(ConformanceFailure):
    """A process ended and left another one behind."""


class HarnessError(Exception):
    """The harness itself failed: nothing is said about the backend."""


class DeviceBroken(HarnessError):
    """The harness's own code failed in a device, by itself or by what a backend has made of the process."""


class MachineTooSlow(HarnessError):
    """Work of seconds did not come back in minutes: the machine is too slow, and nothing is said about the backend."""


class ZygoteLost(HarnessError):
    """The process from which devices are forked has ended or was stopped; another can take its place."""


class GarbledValue(ConformanceFailure, ValueError):
    """A device answered with something that cannot be read as the value that was asked for."""


class TargetUnable(Exception):
    """The kind of target that was chosen cannot be had here, or cannot do what the clause asks of it.

    Nothing is said about the backend; the text says what cannot be done, and why.
    """


@dataclasses.dataclass
class SubjectError(Exception):
    """What is under test raised an exception in a device, in the phase that the verb names."""

    phase: str
    type: str
    bases: tuple[str, ...]
    text: str
    stack: str = ""
    stderr: str = ""

    def __str__(self) -> str:
        return f"{self.type} in {self.phase}: {self.text}"

    def is_a(self, qualified_name: str) -> bool:
        """True when the exception was of that type, or of one derived from it (``torch.jit.Error``)."""
        return qualified_name in (self.type, *self.bases)


@dataclasses.dataclass
class DeviceEnded(Exception):
    """A device did not answer a verb; its process and the whole process group are gone."""

    phase: str
    stack: str = dataclasses.field(default="", kw_only=True)
    stdout: str = dataclasses.field(default="", kw_only=True)
    stderr: str = dataclasses.field(default="", kw_only=True)
    #: What was special about the call, which the phase does not tell.
    context: str = dataclasses.field(default="", kw_only=True)

    def __str__(self) -> str:
        return f"{self.what_happened} ({self.context})" if self.context else self.what_happened

    @property
    def what_happened(self) -> str:
        """One line about it."""
        raise NotImplementedError


@dataclasses.dataclass
class DeviceDied(DeviceEnded):
    """The process ended in the middle of a verb: by a signal (a negative status), or by an exit of its own."""

    status: int
    #: Whether processes that it had started were still there.
    left_processes: bool = dataclasses.field(default=False, kw_only=True)

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended the process, or None."""
        if self.status >= 0:
            return None
        try:
            return signals.Signals(-self.status).name
        except ValueError:
            return f"signal {-self.status}"

    @property
    def exit_code(self) -> int | None:
        """The exit code, or None when a signal ended the process."""
        return self.status if self.status >= 0 else None

    @property
    def what_happened(self) -> str:
        how = f"killed by {self.signal}" if self.signal else f"exited with code {self.exit_code}"
        return f"the process {how} during {self.phase}"


@dataclasses.dataclass
class DeviceCutShort(DeviceEnded):
    """The process was asked to end as a script does, and something else ended it: not everything that is registered
    for its end has run."""

    status: int

    @property
    def what_happened(self) -> str:
        return (
            f"the process was cut short during {self.phase}: it exited with code {self.status} before all that is "
            "registered for its end had run (as os._exit or exec in an exit handler do)"
        )


@dataclasses.dataclass
class DeviceTimeout(DeviceEnded):
    """A verb did not come back in time."""

    seconds: float

    @property
    def what_happened(self) -> str:
        return f"{self.phase} did not come back within {self.seconds:g} s"

    def is_excused_by(self, seconds: float) -> bool:
        """Whether the machine is slow, and not the backend: PyTorch without it takes so many seconds for the same."""
        return seconds > self.seconds / _MUCH_SLOWER


@dataclasses.dataclass
class DeviceStopped(DeviceTimeout):
    """A verb did not come back in time, since the process was stopped by a signal."""

    @property
    def what_happened(self) -> str:
        return f"{self.phase} did not come back within {self.seconds:g} s: the process was stopped"


@dataclasses.dataclass
class DeviceTampered(DeviceEnded):
    """The process no longer runs the harness, or what that calls of PyTorch, as they were before the backend came."""

    changed: str

    @property
    def what_happened(self) -> str:
        return (
            f"after {self.phase} the process no longer runs what it did before the backend was there: {self.changed}. "
            "Its answers show nothing; a backend leaves the functions of the harness and of PyTorch as they are"
        )


@dataclasses.dataclass
class DeviceOrphaned(DeviceEnded):
    """The process from which devices are forked was ended or stopped while one of them was at work.

    It runs nothing of a backend, and nobody but a device has a reason to.
    """

    what: str

    @property
    def what_happened(self) -> str:
        return f"during {self.phase} the process from which devices are forked {self.what}"


@dataclasses.dataclass
class DeviceFlooded(DeviceEnded):
    """The process wrote more output than it may."""

    limit: int

    @property
    def what_happened(self) -> str:
        return f"more than {self.limit // 2**20} MiB of output during {self.phase}"


@dataclasses.dataclass
class DeviceGarbled(DeviceEnded):
    """What came back is no answer: bytes that are no message, or an answer to another request.

    A process does that when it has written to descriptors that are not its own, or forked and lets both sides answer.
    """

    heard: str

    @property
    def what_happened(self) -> str:
        return f"protocol error during {self.phase}: {self.heard}"


class GoldensError(Exception):
    """A golden set cannot be read or written; the text says what was expected and found."""
