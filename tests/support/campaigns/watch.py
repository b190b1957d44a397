"""What attempts take, and what is wrong with them: seconds of CPU, memory, exceptions that nobody caught."""

from __future__ import annotations

import dataclasses
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

#: What nothing that is read may take.
MOST_SECONDS = 2.0
MOST_BYTES = 512 * 2**20
_FINDINGS_SHOWN = 12
_TEXT_KEPT = 1500


@dataclasses.dataclass(frozen=True, order=True)
class Extreme:
    """The most that an attempt took, and which one it was."""

    amount: float = 0.0
    who: str = ""


@dataclasses.dataclass
class Watch:
    """Makes attempts, and keeps what they took and what was wrong."""

    made: Counter[str] = dataclasses.field(default_factory=Counter)
    #: How attempts ended, such as by the exit code of a command: kind and end → how often.
    ends: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    slowest: Extreme = Extreme()
    largest: Extreme = Extreme()
    findings: list[str] = dataclasses.field(default_factory=list)

    def attempt(self, kind: str, who: str, work: Callable[[], str]) -> None:
        """Do ``work``, which says how it ended and raises AssertionError for what is wrong; any exception is."""
        before = _forget_peak()
        began = time.process_time()
        try:
            self.ends[kind, work()] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self._found(f"{who}: {''.join(traceback.format_exception(error))[-_TEXT_KEPT:]}")
        seconds, taken = time.process_time() - began, max(0, _peak() - before)
        self.made[kind] += 1
        self.slowest = max(self.slowest, Extreme(seconds, who))
        self.largest = max(self.largest, Extreme(taken, who))
        if seconds > MOST_SECONDS:
            self._found(f"{who}: {seconds:.1f} s of CPU")
        if taken > MOST_BYTES:
            self._found(f"{who}: {taken / 2**20:.0f} MiB")

    def _found(self, finding: str) -> None:
        """Keep a finding, and tell it at once: a campaign takes hours, and standard error may be what is tried."""
        self.findings.append(finding)
        print(finding, file=sys.__stderr__, flush=True)

    def summary(self) -> str:
        """A few lines for who started the campaign."""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.made.items())
        apart = {each.rstrip().rpartition("\n")[2]: each for each in reversed(self.findings)}
        ends = ", ".join(f"{kind} {end}: {count:,}" for (kind, end), count in sorted(self.ends.items()))
        return "\n".join(
            [
                f"{self.made.total():,} attempts: {kinds}",
                f"ends: {ends}",
                f"slowest: {self.slowest.amount:.2f} s of CPU ({self.slowest.who})",
                f"largest: {self.largest.amount / 2**20:.0f} MiB ({self.largest.who})",
                f"findings: {len(self.findings)}",
                *list(apart.values())[:_FINDINGS_SHOWN],
            ]
        )


def _forget_peak() -> int:
    """Let the peak of resident memory begin anew; the resident memory in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak() -> int:
    """The most memory that was resident since, in bytes."""
    line = next(each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
