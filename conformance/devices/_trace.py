"""What the devices of a cell were asked, in order, and what came of it: from this a failure can be told again."""

from __future__ import annotations

import dataclasses
from typing import Any

#: A trace that holds more is dropped: its artifacts would be too large for a reproducer, and for this process.
_MOST_BYTES = 256 * 2**20


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A device as a trace knows it: a ``label`` of its own in the cell, and how its process is made."""

    label: str
    role: str
    environment: dict[str, str | None]
    #: False for one in which no backend is loaded.
    has_backend: bool
    trace: Trace

    def begin(self, verb: str, phase: str, arguments: dict[str, Any]) -> Step:
        """Note that a verb is asked for; what comes of it is filled in later."""
        step = Step(self, verb, phase, arguments)
        self.trace.add(step)
        return step


@dataclasses.dataclass(slots=True, eq=False)
class Step:
    """One verb: at most one of ``value`` (when it ``returned``) and ``raised``; neither where the process ended."""

    machine: Machine
    verb: str
    phase: str
    arguments: dict[str, Any]
    returned: bool = False
    value: Any = None
    raised: dict[str, Any] | None = None

    def answer(self, value: Any, raised: dict[str, Any] | None) -> None:
        """Note what the verb came to."""
        self.returned, self.value, self.raised = raised is None, value, raised
        self.machine.trace.weigh(value)


class Trace:
    """The steps of one attempt at a cell, and the machines that took them."""

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self.steps: list[Step] = []
        #: Whether more was asked and answered than a trace may hold; then it has no steps.
        self.overflowed = False
        self._bytes = 0

    def machine(self, role: str, environment: dict[str, str | None], has_backend: bool) -> Machine:
        """A new machine. The second of a role is ``host_2``."""
        before = sum(each.role == role for each in self.machines)
        label = f"{role}_{before + 1}" if before else role
        self.machines.append(Machine(label, role, environment, has_backend, self))
        return self.machines[-1]

    def add(self, step: Step) -> None:
        """Append a step."""
        if not self.overflowed:
            self.steps.append(step)
            self.weigh(step.arguments)

    def weigh(self, value: Any) -> None:
        """Count the bytes of a value; drop everything when they are too many."""
        self._bytes += _bytes_in(value)
        if self._bytes > _MOST_BYTES:
            self.overflowed = True
            self.steps.clear()

    def clear(self) -> None:
        """Let everything go that was noted."""
        self.steps = []


def _bytes_in(value: Any) -> int:
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_in, value))
    return 0
