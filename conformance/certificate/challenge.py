"""A certificate is challenged: the backend that is installed here is certified anew, from another seed."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.api.errors import HarnessError
from conformance.certificate.statement import Certificate, ReportFile, certify, load_report, subjects
from conformance.contract import contract_digest
from conformance.devices import Limits, ZygotePool
from conformance.discovery.describing import SelectionError
from conformance.discovery.selecting import select
from conformance.report._build import backend_of
from conformance.report._certification import KEPT
from conformance.report.model import Backend


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came of a challenge. ``reasons`` say, a sentence each, why the certificate does not stand (none: it does).

    ``cells`` are the ids of those that the level owes and that were not kept, with their verdicts; ``remarks`` say what
    was otherwise here than where the certificate was made.
    """

    reasons: tuple[str, ...]
    cells: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def challenge(
    certificate: Certificate, library: Path | None, workers: int, say: Callable[[str], None], seed: int | None = None
) -> Answer:
    """Hold a certificate against the backend that is installed here, by its files and by a new run.

    ``library`` is that of a backend without a plugin; ``say`` is told what goes on. More than one of ``workers`` takes
    pytest-xdist. Without a ``seed`` the run has a random one, which is not the certificate's. Raises SelectionError
    for a backend that cannot be had here, ReportError for a new report that cannot be read.
    """
    found = _installed(certificate, library)
    strangers = _strangers(certificate, subjects(found))
    if strangers:
        return Answer(strangers)
    if seed is None:
        seed = _another_seed(certificate)
    budget = f", and a budget of {certificate.budget} for generated cells" if certificate.budget else ""
    say(f"the files are those that were certified; running the contract anew, with the seed {seed}{budget}")
    with tempfile.TemporaryDirectory(prefix="torch-conformance-") as folder:
        output = _run(certificate, library, workers, seed, Path(folder))
        paths = sorted(Path(folder).glob("*/report.json"))
        if not paths:
            lines = output.strip().splitlines() or ["it said nothing"]
            return Answer((f"the run came to no report: {lines[-1]:.300}",))
        return _answer(certificate, load_report(paths[0]))


def _another_seed(certificate: Certificate) -> int:
    """A seed that the certificate was not made from: that one shows nothing that was not shown."""
    draw = random.SystemRandom()
    while (seed := draw.randrange(2**31)) == certificate.seed:
        pass
    return seed


def _installed(certificate: Certificate, library: Path | None) -> Backend:
    """What a report would say of the backend."""
    pool = ZygotePool(Limits())
    try:
        options = [] if certificate.options is None else [certificate.options]
        candidate = select([certificate.entry_point], library, pool, options)[0]
    except HarnessError as error:
        raise SelectionError(str(error)) from error
    finally:
        pool.close()
    description = candidate.description
    if description is None or not candidate.usable:
        raise SelectionError(f"the backend {candidate.source.name!r} cannot be used here: {candidate.problem}")
    return backend_of(description)


def _strangers(certificate: Certificate, here: list[dict[str, Any]]) -> tuple[str, ...]:
    """A sentence for each thing that was certified and is another here, or not here."""
    digests: dict[str, list[Any]] = {}  # two files of one name may lie in two folders
    for each in here:
        digests.setdefault(each["name"], []).append(each["digest"])
    sentences = []
    for each in certificate.statement["subject"]:
        if each["name"] not in digests:
            sentences.append(f"{each['name']} was certified, and the backend that is installed here has none")
        elif each["digest"] not in digests[each["name"]]:
            sentences.append(f"{each['name']} is another one here than was certified: its digest differs")
    return tuple(sentences)


def _run(certificate: Certificate, library: Path | None, workers: int, seed: int, folder: Path) -> str:
    compiled_with = [] if certificate.options is None else [certificate.options]
    options = [
        f"--conformance-backend={certificate.entry_point}",
        f"--conformance-seed={seed}",
        f"--conformance-level={certificate.level.value}",
        f"--conformance-report={folder}",
        *([f"--conformance-generated={certificate.budget}"] if certificate.budget else []),
        *(f"--conformance-compile-options={json.dumps(each)}" for each in compiled_with),
        *([f"--conformance-library={library.resolve()}"] if library else []),
        *(["-n", str(workers)] if workers > 1 else []),
    ]
    # No options and plugins of whoever asks: a run of a part of the contract would be none.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", *options]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout


def _answer(certificate: Certificate, file: ReportFile) -> Answer:
    report, level = file.report, certificate.level
    _, reasons = certify(file, level)
    remarks = []
    if contract_digest(report.backend.toolchain) != certificate.contract_sha256:
        reasons = (*reasons, "the contract that is installed here is another than that of the certificate")
    before = certificate.environment
    for name, value in report.environment.items():
        if before.get(name) != value:
            remarks.append(f"{name} is {value} here, and was {before.get(name, 'not told')}")
    cells = tuple(
        f"{row.id}: {row.verdict.value}{f' in {row.phase}' if row.phase else ''}: {row.message}"
        for row in report.cells
        if level.includes(row.level) and row.verdict not in KEPT
    )
    return Answer((*_strangers(certificate, subjects(report.backend)), *reasons), cells, tuple(remarks))
