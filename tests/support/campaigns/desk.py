"""A folder with one good document of each kind, and the commands that read such."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.certificate import recompute
from conformance.cli import main
from conformance.contract import Level
from conformance.devices import Limits, ZygotePool
from conformance.discovery.selecting import select
from conformance.report import assemble
from support.generated_rows import FINDING, generated
from support.made_reports import made_report, put

#: What a terminal would obey: all control characters but the end of a line, and what reorders text.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udfff]")
_AS_IT_WAS = "as it was"
_PACKED = "lite.types"
EXPECTATIONS = """\
# known
[[expect]]
clause = "lowering.outputs"
case = ["linear", "conv_*"]
verdict = "FAIL"
phase = "run"
fingerprint = "0123456789ab"
reason = "rounds towards zero"
issue = "owner/repository#12"
owner = "somebody"
since = 2026-01-01
expires = 2036-01-01
versions = {torch = ">=2.13,<2.14", backend = "==1.2"}

[[expect]]
clause = "availability.*"
host = "no/no"
runtime = "full"
verdict = "FLAKY"
reason = "now and then"
expires = 2036-01-01
"""


def small_report() -> dict[str, Any]:
    """A report with few cells, of a contract that has no more than these."""
    report = made_report(level=Level.MOBILE)
    kept = ("availability.host", "availability.target", "lowering.spec-intact")
    rows = [row for row in report["cells"] if row["clause"] in kept and row["runtime"] == "full"]
    rows[-1] |= {"notes": ["a remark"], "margin": {"comparisons": 2, "used": 0.5, "absolute": 1e-7, "dtype": "float32"}}
    rows[-1] |= {"generated": generated(findings=[FINDING])}
    report["harness"]["contract"]["sha256"] = "0" * 64
    clauses = [each for each in report["clauses"] if each["id"] in kept]
    # few, or most of the changes would be to their pairs
    report["generated"] = {"axes": {"dtype": ["float32", "bool"]}}
    return assemble(report, clauses, rows, 0, Level.MOBILE)


def reassembled(report: dict[str, Any]) -> dict[str, Any]:
    """The report with what follows from its cells."""
    return assemble(report, report["clauses"], report["cells"], 0, Level.MOBILE)


@contextlib.contextmanager
def contract_of_the_desk() -> Iterator[None]:
    """The contract that is installed is taken for that of the report: a plan of some hundred cells would be all that is
    changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recompute, "contract_digest", lambda toolchain: "0" * 64)
        patch.setattr(recompute, "faults_of_the_plan", lambda report: [])
        yield


def furnish(folder: Path) -> Path:
    """Put a good report there, a failing one, a key, and the certificates of the good one."""
    good = put(folder / "good.json", small_report())
    failing = small_report()
    failing["cells"][0] |= {"verdict": "FAIL", "phase": "run", "message": "wrong", "error": {"text": "wrong"}}
    put(folder / "failing.json", reassembled(failing))
    assert main(["certify", "--new-key", str(folder / "key.pem")]) == 0
    assert main(["certify", str(good), "-o", str(folder / "certificate.json")]) == 0
    signed = ["--key", str(folder / "key.pem"), "-o", str(folder / "signed.json")]
    assert main(["certify", str(good), *signed]) == 0
    return folder


def furnish_with_artifacts(folder: Path) -> None:
    """Put a golden set of the reference backend there, and a pack with its results and the report of its host."""
    assert main(["goldens", "reference", str(folder / "goldens")]) == 0
    pack = folder / "pack"
    assert main(["pack", str(pack), "--backend", "reference", "--clause", _PACKED, "--seed", "7"]) == 0
    pool = ZygotePool(Limits())
    try:
        (candidate,) = select(["reference"], None, pool)
    finally:
        pool.close()
    assert candidate.description is not None, candidate.problem
    (library,) = candidate.description.libraries
    subprocess.run([sys.executable, str(pack / "run.py"), "--library", library], check=True, capture_output=True)
    report = made_report(candidate.description, level=Level.CORE)
    clauses = [each for each in report["clauses"] if each["id"] == _PACKED]
    rows = [row for row in report["cells"] if row["clause"] == _PACKED]
    put(folder / "host-report.json", assemble(report, clauses, rows, 0, Level.CORE))


def readers(desk: Path, hard: Path, output: Path) -> Iterator[list[str]]:
    """Each command that reads a report, or a certificate, with the hard file in each of its places."""
    good, key = str(desk / "good.json"), str(desk / "key.pub.pem")
    yield ["show", str(hard)]
    yield ["compare", str(hard), good]
    yield ["compare", good, str(hard), "--format", "markdown", "--all"]
    yield ["merge", good, str(hard), "-o", str(output)]
    yield ["certify", str(hard), "--level", "mobile", "-o", str(output)]
    yield ["verify", str(desk / "certificate.json"), "--report", str(hard)]
    yield ["verify", str(hard), "--report", good]
    yield ["verify", str(hard), "--public-key", key, "--report", good]
    yield ["verify", str(desk / "signed.json"), "--public-key", str(hard), "--report", good]


def writers(hard: Path) -> Iterator[list[str]]:
    """Each command that makes something else of a report."""
    for format_ in ("html", "markdown", "ctrf", "badge-svg", "badge-json"):
        yield ["show", str(hard), "--format", format_]
    yield ["operators", str(hard)]


@dataclasses.dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str


def run_command(command: list[str]) -> Said:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command)
    return Said(code, out.getvalue(), err.getvalue())


def check(command: list[str], output: Path) -> int:
    """Run a command; it must end with 0, 1 or 2, say things that can be shown, and write all of ``output`` or nothing
    beside what was there before."""
    output.write_text(_AS_IT_WAS)
    around = sorted(os.listdir(output.parent))
    said = run_command(command)
    assert said.code in (0, 1, 2), command
    if "--format" not in command:  # a page is no text for a terminal
        assert not _UNSEEN.search(said.out), (command, said.out)
    assert not _UNSEEN.search(said.err), (command, said.err)
    if said.code == 2:
        assert len(said.err.splitlines()) == 1, (command, said.err)
        assert said.err.startswith("conformance: "), (command, said.err)
        assert len(said.err) < 3000, command
    elif command[0] != "unpack":  # which tells there what was not answered
        assert said.err == "", (command, said.err)
    said.out.encode()
    if {"html", "markdown"} & set(command):
        assert "<script>x" not in said.out, command
    if output.read_text() != _AS_IT_WAS:
        assert said.code != 2, command
        assert isinstance(json.loads(output.read_bytes()), dict), command
    assert sorted(os.listdir(output.parent)) == around, command
    return said.code
