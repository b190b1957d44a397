"""Runs in which processes get signals at random moments: pytest, its workers, what devices are forked from, devices."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from conformance._util.run_folder import sweep
from conformance.report import ReportError, read_report
from support.campaigns.faults import left_behind, processes_of

ROLES = ("pytest", "worker", "zygote", "device")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
#: The exit codes that docs/commands.md names, for a run that nobody ended from outside.
_DOCUMENTED = (0, 1, 2, 10, 11)
_LONGEST_RUN = 180
#: How many processes below pytest get a signal before pytest itself does.
_BEFORE = 3
_ARGUMENTS = ("--backend=python_control", "-k", "test_types or test_outputs or test_ways", "--conformance-generated=0")


@dataclasses.dataclass
class Seen:
    """What came of them."""

    sent: Counter[str] = dataclasses.field(default_factory=Counter)
    codes: Counter[str] = dataclasses.field(default_factory=Counter)
    reports: int = 0
    runs: int = 0
    findings: list[str] = dataclasses.field(default_factory=list)

    def summary(self) -> str:
        """A few lines for who started the campaign."""
        sent = ", ".join(f"{count} {what}" for what, count in sorted(self.sent.items()))
        codes = ", ".join(f"{what}: {count}" for what, count in sorted(self.codes.items()))
        return "\n".join(
            [
                f"{self.sent.total()} interruptions in {self.runs} runs: {sent}",
                f"last signal and exit code: {codes}",
                f"{self.reports} reports, each of them whole",
                f"findings: {len(self.findings)}",
                *self.findings,
            ]
        )


def campaign(number: int, seed: int) -> Seen:
    """Make so many interruptions, in as many runs as that takes."""
    seen = Seen()
    while seen.sent.total() < number:
        random = Random(f"{seed}/{seen.runs}")
        with tempfile.TemporaryDirectory(prefix="interrupted-") as name:
            _run(seen, random, Path(name))
        seen.runs += 1
        print(
            f"{seen.sent.total()} of {number} interruptions, {len(seen.findings)} findings", file=sys.stderr, flush=True
        )
    return seen


def _run(seen: Seen, random: Random, folder: Path) -> None:
    """One run, with some interruptions of what works for it and a last one of pytest itself."""
    workers = random.choice([0, 2])
    mark = uuid.uuid4().hex
    (folder / "temporary").mkdir()
    environment = {each: value for each, value in os.environ.items() if not each.startswith("PYTEST_")}
    environment |= {"TMPDIR": str(folder / "temporary"), "INTERRUPTED": mark}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"-n{workers}", *_ARGUMENTS]
    command += [f"--basetemp={folder / 'pytest'}"]
    shared = set(os.listdir("/dev/shm"))
    with (folder / "output").open("w+") as output:
        pytest = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        _wait(lambda: any(folder.glob("conformance-report/**/cells.jsonl")) or pytest.poll() is not None, _LONGEST_RUN)
        sent: list[str] = []
        for role in (*random.choices(ROLES[1 if workers else 2 :], k=_BEFORE), "pytest"):
            time.sleep(random.uniform(0, 2.5))
            sent += _interrupt(seen, random, role, pytest.pid, mark)
        try:
            code = pytest.wait(_LONGEST_RUN)
        except subprocess.TimeoutExpired:
            seen.findings.append(f"run {seen.runs}: still there {_LONGEST_RUN} s after {', '.join(sent)}")
            pytest.kill()
            code = pytest.wait()
        output.seek(0)
        said = output.read()
    last = sent[-1] if sent else "nothing"
    seen.codes[f"{last} {code}"] += 1
    where = f"run {seen.runs} (-n {workers}, {', '.join(sent)})"
    if code not in _DOCUMENTED and code != -getattr(signal, last.rpartition(" ")[2], 0):
        seen.findings.append(f"{where}: exit code {code}: {said[-1500:]}")
    if "INTERNALERROR" in said:
        seen.findings.append(f"{where}: {said[said.index('INTERNALERROR') :][:2000]}")
    seen.findings += [f"{where}: {each}" for each in _broken(seen, folder)]
    seen.findings += [f"{where}: left: {each}" for each in left_behind(mark, None, shared)]
    if last == "pytest SIGKILL":  # who is killed so can remove no folder
        sweep(folder / "temporary")  # as the next run does
    seen.findings += [f"{where}: left: temporary: {path.name}" for path in (folder / "temporary").iterdir()]


def _interrupt(seen: Seen, random: Random, role: str, pytest: int, mark: str) -> list[str]:
    """Send a signal to one process of a role; which that was, if there is one."""
    found = [pid for pid in processes_of(mark) if _role(pid, pytest) == role]
    if not found:
        return []
    sent = random.choice(SIGNALS)
    try:
        os.kill(random.choice(found), sent)
    except ProcessLookupError:
        return []
    what = f"{role} {sent.name}"
    seen.sent[what] += 1
    return [what]


def _role(pid: int, pytest: int) -> str:
    """What a process of a run is: by its command, and by whose child it is."""
    if pid == pytest:
        return "pytest"
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        if b"_zygote.py" not in command:
            return "worker" if b"sys.stdin.readline" in command else "another"
        return "device" if b"_zygote.py" in Path(f"/proc/{parent}/cmdline").read_bytes() else "zygote"
    except OSError:
        return "gone"


def _broken(seen: Seen, folder: Path) -> Iterator[str]:
    """Files of the run that nobody can read."""
    for path in folder.glob("conformance-report/**/report.json"):
        seen.reports += 1
        try:
            read_report(path)
        except ReportError as error:
            yield str(error)
    for path in folder.glob("conformance-report/**/cells.jsonl"):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            try:
                json.loads(line)
            except ValueError:
                yield f"{path.name}: line {number} is broken"
    for path in folder.glob("conformance-report/**/.*"):
        yield f"half a file: {path.name}"


def _wait(happens: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not happens() and time.monotonic() < deadline:
        time.sleep(0.05)
