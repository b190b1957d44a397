"""The challenge: a certificate against a new run."""

from __future__ import annotations

import dataclasses
import os
import types
from pathlib import Path
from typing import Any

import pytest
from support.certificate_office import CELL, Office
from support.made_reports import described, made_report, put

from conformance.certificate import challenge as challenges
from conformance.devices import Limits, ZygotePool
from conformance.discovery.describing import Description
from conformance.discovery.selecting import select
from conformance.report.model import Backend
from conformance.report.parts import read_part


def described_as_installed(name: str) -> Description:
    """What a run would say of a backend that is installed."""
    pool = ZygotePool(Limits())
    try:
        description = select([name], None, pool)[0].description
    finally:
        pool.close()
    assert description is not None
    return description


@pytest.mark.slow
def test_a_challenge_runs_the_contract_anew(office: Office) -> None:
    """The slow one: the reference backend is really certified, from a new seed."""
    assert office.certify(made_report(described_as_installed("reference")))[0] == 0
    code, said, complained = office.verify("--rerun", "-n", 2)
    assert code == 0, said + complained
    assert "running the contract anew, with the seed" in said
    assert "rerun: level mobile was reached again" in said
    assert sorted(os.listdir(office.folder)) == ["certificate.json", "report.json"]


def test_a_challenge_of_another_library_is_over_before_it_runs(office: Office) -> None:
    installed = described_as_installed("reference")
    other = [{**each, "sha256": "0" * 64} for each in installed.files]
    assert office.certify(made_report(dataclasses.replace(installed, files=tuple(other))))[0] == 0
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert "is another one here than was certified: its digest differs" in said
    assert "running" not in said


def test_a_challenge_of_a_backend_that_is_not_here_is_bad_input(office: Office) -> None:
    assert office.certify()[0] == 0
    code, _, complained = office.verify("--rerun")
    assert code == 2
    assert "there is no backend named 'torchscript:toy'" in complained


@pytest.mark.runs
def test_a_challenge_finds_a_backend_that_the_run_called_otherwise(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a run does that has two sets of options, or backends of two toolchains with one name."""
    asked: dict[str, list[str]] = {}

    class Done:
        stdout = ""

    def run(command: list[str], **how: Any) -> Done:
        asked["command"] = command
        return Done()

    pool = ZygotePool(Limits())
    try:
        (candidate,) = select(["dynamo:eager"], None, pool, [{"trace.enabled": True}])
    finally:
        pool.close()
    assert candidate.source.name == "eager+trace.enabled=True"
    assert candidate.description is not None
    made = made_report(dataclasses.replace(candidate.description, distribution_hash="b" * 64))
    assert office.run("certify", put(office.report, made), "--level", "core")[0] == 0
    assert office.statement()["predicate"]["configuration"][1]["annotations"]["entry_point"] == "eager"
    monkeypatch.setattr(challenges, "_strangers", lambda certificate, here: ())
    monkeypatch.setattr("subprocess.run", run)
    _, said, complained = office.verify("--rerun")
    assert "the run came to no report: it said nothing" in said, said + complained
    assert "--conformance-backend=dynamo:eager" in asked["command"]
    assert '--conformance-compile-options={"trace.enabled": true}' in asked["command"]


def staged(monkeypatch: pytest.MonkeyPatch, rerun: dict[str, Any] | None, output: str = "") -> None:
    """The backend is here, and a new run of it comes to this report, or to none."""
    installed = read_part(Backend, made_report()["backend"])

    def run(certificate: Any, library: Any, workers: int, seed: int, folder: Path) -> str:
        if rerun is not None:
            (folder / "toy").mkdir()
            put(folder / "toy" / "report.json", rerun)
        return output

    monkeypatch.setattr(challenges, "_installed", lambda certificate, library: installed)
    monkeypatch.setattr(challenges, "_run", run)


def test_a_challenge_that_is_lost_names_the_cells(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    assert office.certify()[0] == 0
    staged(monkeypatch, made_report(verdicts={CELL: "CRASH"}))
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert f"rerun: {CELL}: CRASH in run: it went wrong" in said
    assert "The certificate that toy reaches level mobile does not hold." in said
    assert "  - lowering.outputs: CRASH in 1 of " in said


def test_a_challenge_notices_a_backend_that_changed_while_it_ran(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert office.certify()[0] == 0
    staged(monkeypatch, made_report(described(distribution_hash="c" * 64)))
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert "toys is another one here than was certified" in said


def test_a_challenge_without_a_report_is_lost(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    assert office.certify()[0] == 0
    staged(monkeypatch, None, "ERROR: something\nthe last line")
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert "the run came to no report: the last line" in said


def test_two_libraries_of_one_name_are_told_apart_by_their_digests() -> None:
    one, two, other = ({"name": "libx.so", "digest": {"sha256": each * 64}} for each in "abc")
    certificate: Any = types.SimpleNamespace(statement={"subject": [one, two]})
    assert challenges._strangers(certificate, [two, one]) == ()
    (found,) = challenges._strangers(certificate, [one, other])
    assert "libx.so is another one here" in found
