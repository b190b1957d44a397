"""Every kind of fault, in every phase, in backends of both toolchains, with conforming ones beside them."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.contract import shipped_clauses
from conformance.toolchains import toolchain_named
from support.campaigns.fault_hooks import CLAUSES, is_faulty
from support.campaigns.fault_kinds import FAULTS
from support.campaigns.faulty import FOLDER, PREFIXES
from support.places import REPOSITORY
from support.project import is_there, wait_until

CONFORMING = ("python_control", "dynamo_control")
_MARK = "FAULT_CAMPAIGN"
_EXCUSES = ("NOT_APPLICABLE", "NOT_EXERCISED", "UNSUPPORTED")
#: Backends of each toolchain: so many that there is a cell for every fault and phase but the exit.
_BACKENDS = 12
_SHOWN = 60


@dataclasses.dataclass
class Seen:
    """What runs of the campaign came to."""

    #: Verdict → of how many faulty cells in which the fault happened.
    verdicts: Counter[str] = dataclasses.field(default_factory=Counter)
    fired: int = 0
    idle: int = 0
    conforming: int = 0
    harmless: int = 0
    kinds: set[str] = dataclasses.field(default_factory=set)
    findings: list[str] = dataclasses.field(default_factory=list)

    def summary(self) -> str:
        """A few lines for who started the campaign."""
        verdicts = ", ".join(f"{verdict} {count}" for verdict, count in self.verdicts.most_common())
        return "\n".join(
            [
                f"{self.fired} cells in which a fault happened, of {len(self.kinds)} kinds: {verdicts}",
                f"of the PASS, {self.harmless} by faults that say themselves why they may",
                f"{self.idle} cells in which none happened",
                f"{self.conforming} cells of conforming backends beside them",
                f"findings: {len(self.findings)}",
                *self.findings[:_SHOWN],
            ]
        )


def campaign(cells: int = 1, workers: Iterable[int] = (0, 2), only: Iterable[str] = (), reruns: int = 0) -> Seen:
    """Try ``cells`` cells for each fault and phase with so many workers; ``only`` these faults where any are named."""
    seen = Seen()
    for each in workers:
        _run(seen, tuple(only) or tuple(FAULTS), cells, each, reruns)
    return seen


def _run(seen: Seen, faults: Sequence[str], cells: int, workers: int, reruns: int) -> None:
    count = _BACKENDS if len(faults) > 10 else 2
    names = [f"{prefix}{number}" for prefix in PREFIXES.values() for number in range(count)]
    mark = uuid.uuid4().hex
    shared = set(os.listdir("/dev/shm"))
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        for each in ("site", "plans", "temporary"):
            (folder / each).mkdir()
        _install(folder / "site", names)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "support.campaigns.fault_hooks"]
        command += [f"-n{workers}", "-q", "--no-header", "--tb=no", "-rN", f"--cells-of-a-phase={cells}"]
        command += [
            f"--faults={','.join(faults)}",
            "--conformance-timeout=8",
            f"--conformance-reruns={reruns}",
            f"--basetemp={folder / 'pytest'}",
        ]
        command += ["--conformance-reproducers=0", "--conformance-memory=2", "--conformance-generated=0"]
        command += [f"--backend={each}" for each in (*CONFORMING, *names)]
        command += sorted(_suites())
        environment = {each: value for each, value in os.environ.items() if not each.startswith("PYTEST_")}
        environment |= {
            "PYTHONPATH": f"{folder / 'site'}:{REPOSITORY / 'tests'}",
            FOLDER: str(folder / "plans"),
            _MARK: mark,
            "TMPDIR": str(folder / "temporary"),
        }
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            # `nohup` has it ignored, by every process below too
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        reports = sorted(folder.glob("conformance-report/**/report.json"))
        lines = (folder / "plans" / "fired").read_text().splitlines()
        fired = {cell: (fault, phase) for cell, fault, phase in (line.split("\t") for line in lines)}
        without = {cell.partition(" ")[0] for cell in fired} - {path.relative_to(folder).parts[1] for path in reports}
        if done.returncode != 1 or without:
            said = (done.stdout + done.stderr)[-3000:]
            seen.findings.append(f"-n {workers}: exit code {done.returncode}, no report of {sorted(without)}\n{said}")
        for path in reports:
            _read(seen, workers, json.loads(path.read_text()), fired)
        seen.findings += [f"-n {workers}: left: {each}" for each in left_behind(mark, folder / "temporary", shared)]


def _suites() -> set[str]:
    """Where the clauses stand that are tried, as pytest takes it."""
    found = [each for each in shipped_clauses() if each.id in CLAUSES]
    return {f"{toolchain_named(each.toolchain).suites}/test_{each.suite}.py::{each.function}" for each in found}


def _install(site: Path, names: list[str]) -> None:
    """A distribution that brings the faulty backends."""
    metadata = site / "faulty-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    entries = "".join(f"{name} = support.campaigns.faulty:{name}\n" for name in names)
    (metadata / "entry_points.txt").write_text(f"[conformance_backends]\n{entries}")


def _read(seen: Seen, workers: int, report: dict[str, Any], fired: dict[str, tuple[str, str]]) -> None:
    backend = report["backend"]["name"]
    for row in report["cells"]:
        verdict, cell = row["verdict"], f"{backend} {row['id']}"
        name, phase = fired.get(cell, ("", ""))
        said = f"-n {workers}: {name or 'no fault'} in {phase or 'no phase'}, {cell}: {verdict} in {row['phase']}: "
        said += f"{row['message']:.300}"
        if not is_faulty(backend):
            seen.conforming += 1
            if verdict != "PASS":
                seen.findings.append(f"{said}, though it conforms")
            continue
        if verdict in ("LOST", "HARNESS_ERROR", *_EXCUSES):
            seen.findings.append(f"{said} {(row.get('error') or {}).get('text', '')[-600:]}")
        if not name:
            seen.idle += 1
            continue
        seen.fired += 1
        seen.kinds.add(name)
        seen.verdicts[verdict] += 1
        if verdict == "PASS":
            seen.harmless += bool(FAULTS[name].harmless)
            if not FAULTS[name].harmless:
                seen.findings.append(f"{said}, though it happened")


def left_behind(mark: str, temporary: Path | None, shared: set[str]) -> Iterator[str]:
    """What the run has left behind."""
    try:
        wait_until(lambda: not any(processes_of(mark)), seconds=30)
    except AssertionError:
        yield from (f"process {pid}" for pid in processes_of(mark))
    yield from (f"temporary: {path.name}" for path in (temporary.iterdir() if temporary else ()))
    yield from (f"shared memory: {name}" for name in set(os.listdir("/dev/shm")) - shared)


def processes_of(mark: str) -> Iterator[int]:
    """The processes that have the mark in their environment."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (path / "environ").read_bytes() and is_there(int(path.name)):
                yield int(path.name)
        except OSError:
            continue
