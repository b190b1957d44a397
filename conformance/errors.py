"""What can go wrong in a cell, as exceptions. :mod:`conformance.verdict` turns them into verdicts."""

from __future__ import annotations

import dataclasses
import signal as signals


class ConformanceFailure(AssertionError):
    """A clause found the backend in breach. The text says what was expected, what was found, and where."""


class HarnessError(Exception):
    """The harness itself failed: nothing is said about the backend."""


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
class DeviceDied(Exception):
    """The process ended in the middle of a verb: by a signal, or by an exit of its own."""

    phase: str
    status: int
    stack: str = ""
    stdout: str = ""
    stderr: str = ""
    #: Whether processes that it had started were still there.
    left_processes: bool = False
    #: What was special about the call, where the phase does not tell.
    context: str = ""

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

    def __str__(self) -> str:
        how = f"killed by {self.signal}" if self.signal else f"exited with code {self.exit_code}"
        return _with(f"the process {how} during {self.phase}", self.context)


@dataclasses.dataclass
class DeviceTimeout(Exception):
    """A verb did not come back in time; the process and its whole group were killed."""

    phase: str
    seconds: float
    stack: str = ""
    stdout: str = ""
    stderr: str = ""
    context: str = ""

    def __str__(self) -> str:
        return _with(f"{self.phase} did not come back within {self.seconds:g} s", self.context)


@dataclasses.dataclass
class DeviceFlooded(Exception):
    """The process wrote more output than it may; it was killed."""

    phase: str
    limit: int
    stack: str = ""
    stdout: str = ""
    stderr: str = ""
    context: str = ""

    def __str__(self) -> str:
        return _with(f"more than {self.limit // 2**20} MiB of output during {self.phase}", self.context)


@dataclasses.dataclass
class DeviceGarbled(Exception):
    """What came back is no answer: bytes that are no message, or an answer to another request.

    A process does that when it has written to descriptors that are not its own, or forked and lets both sides answer.
    """

    phase: str
    what: str
    stack: str = ""
    stdout: str = ""
    stderr: str = ""
    context: str = ""

    def __str__(self) -> str:
        return _with(f"the process was heard saying what no device says during {self.phase}: {self.what}", self.context)


#: Everything that a device can come to instead of answering.
DEVICE_ENDED = (DeviceDied, DeviceTimeout, DeviceFlooded, DeviceGarbled)


def _with(text: str, context: str) -> str:
    return f"{text} ({context})" if context else text
