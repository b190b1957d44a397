"""Certificates: what they say, and what is refused one."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from support.certificate_office import CELL, Office
from support.made_reports import described, made_report

from conformance.contract import CONTRACT_VERSION, Level, levels_of
from conformance.run.plan import digest_of_ids
from conformance.toolchains import Source


def test_a_certificate_says_what_was_tested_and_which_clauses_hold(office: Office, whole: dict[str, Any]) -> None:
    code, said, complained = office.certify()
    assert (code, complained) == (0, "")
    assert f"toy reaches level mobile of contract {CONTRACT_VERSION}" in said
    statement = office.statement()
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert statement["subject"] == [
        {"name": "libtoy.so", "digest": {"sha256": "a" * 64}},
        {"name": "toys", "uri": "pkg:pypi/toys@1.0", "digest": {"dirHash": "b" * 64}},
    ]
    predicate = statement["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["failedTests"] == predicate["warnedTests"] == []
    owed = [each["id"] for each in whole["clauses"] if each["level"] in ("core", "mobile")]
    assert sorted(predicate["passedTests"]) == sorted(owed)
    report, contract, plan = predicate["configuration"]
    digest = subprocess.run(["sha256sum", office.report], capture_output=True, text=True, check=True).stdout.split()[0]
    assert report["digest"]["sha256"] == digest
    assert report["annotations"]["seed"] == 7
    assert contract["digest"]["sha256"] == whole["harness"]["contract"]["sha256"]
    assert contract["annotations"]["level"] == "mobile"
    assert plan["annotations"]["cells"] == len(whole["cells"])


def test_a_run_that_tried_operators_too_can_be_certified(office: Office) -> None:
    """What they came to is reported, and never graded."""
    cell = "operators.table[mul-full-yes/yes]"
    report = made_report(operators=("add", "mul"), verdicts={cell: "CRASH"})
    assert cell in {row["id"] for row in report["cells"]}
    code, said, complained = office.certify(report)
    assert (code, complained) == (0, ""), said
    predicate = office.statement()["predicate"]
    assert "operators.table" not in (predicate["passedTests"] + predicate["warnedTests"])
    assert office.verify()[0] == 0


def test_a_clause_that_nothing_shows_is_a_warning_and_one_that_says_nothing_is_neither(
    office: Office, whole: dict[str, Any]
) -> None:
    of = {row["id"]: row["clause"] for row in whole["cells"]}
    shown = {cell: "NOT_EXERCISED" for cell, clause in of.items() if clause == "lowering.twice"}
    silent = {cell: "NOT_APPLICABLE" for cell, clause in of.items() if clause == "lowering.deterministic"}
    assert shown
    assert silent
    assert office.certify(made_report(verdicts=shown | silent))[0] == 0
    predicate = office.statement()["predicate"]
    assert predicate["result"] == "WARNED"
    assert predicate["warnedTests"] == ["lowering.twice"]
    assert not {"lowering.twice", "lowering.deterministic"} & set(predicate["passedTests"])
    assert office.verify()[0] == 0


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("FAIL", "lowering.outputs: FAIL in 1 of "),
        ("CRASH", "lowering.outputs: CRASH in 1 of "),
        ("XFAIL", "known failures (XFAIL) excuse a run, and never certify a backend"),
        ("XPASS", "lowering.outputs: XPASS in 1 of "),
        ("FLAKY", "lowering.outputs: FLAKY in 1 of "),
        ("HARNESS_ERROR", "lowering.outputs: HARNESS_ERROR in 1 of "),
        ("LOST", "1 of 536 planned cells never came back"),
        ("UNSUPPORTED", "have a verdict that what the backend declares rules out"),
    ],
)
def test_what_does_not_reach_the_level_gets_none(office: Office, verdict: str, reason: str) -> None:
    report = made_report(verdicts={CELL: verdict})
    reason = reason.replace("536", str(len(report["cells"])))
    office.certificate.write_text("as it was")
    code, said, complained = office.certify(report)
    assert (code, complained) == (1, "")
    assert "No certificate: toy does not reach level mobile." in said
    assert reason in said
    assert office.certificate.read_text() == "as it was"


def test_a_state_that_was_not_tried_stands_in_the_way(office: Office) -> None:
    states = described().states | {"no/no": None}
    code, said, _ = office.certify(made_report(described(states=states)))
    assert code == 1
    assert "availability no/no on the host was not exercised" in said
    assert office.run("certify", office.report, "--level", "core")[0] == 0


def test_a_level_that_no_clause_has_is_not_reached(office: Office) -> None:
    compiler = described(toolchain="dynamo", missing_features={})
    assert Level.MOBILE not in levels_of("dynamo")
    code, said, _ = office.certify(made_report(compiler))
    assert code == 1
    assert "no clause of level mobile took part" in said
    assert office.run("certify", office.report, "--level", "core")[0] == 0


def test_nothing_is_certified_that_nothing_identifies(office: Office) -> None:
    nameless = described(files=(), distribution_hash=None, source=Source("toy"))
    code, said, _ = office.certify(made_report(nameless))
    assert code == 1
    assert "nothing tells which backend was tested" in said


def reassembled(report: dict[str, Any]) -> dict[str, Any]:
    """The report that says of its own, changed cells what is so."""
    from conformance.contract import Level
    from conformance.report import assemble

    level = Level(report["certification"]["level"])
    return assemble(report, report["clauses"], report["cells"], report["plan"]["deselected"], level)


def without_a_cell(report: dict[str, Any]) -> None:
    report["cells"] = [row for row in report["cells"] if row["id"] != CELL]


def without_a_clause(report: dict[str, Any]) -> None:
    report["cells"] = [row for row in report["cells"] if row["clause"] != "lowering.outputs"]
    report["clauses"] = [each for each in report["clauses"] if each["id"] != "lowering.outputs"]


def with_a_clause_of_its_own(report: dict[str, Any]) -> None:
    clause, row = report["clauses"][0], report["cells"][0]
    report["clauses"].append(clause | {"id": "own.clause"})
    report["cells"].append(row | {"clause": "own.clause", "id": "own.clause" + row["id"].removeprefix(row["clause"])})


def with_a_gentler_statement(report: dict[str, Any]) -> None:
    report["clauses"][0]["statement"] = "It does something."


def with_a_lower_level(report: dict[str, Any]) -> None:
    report["clauses"][0]["level"] = "reported"
    for row in report["cells"]:
        if row["clause"] == report["clauses"][0]["id"]:
            row["level"] = "reported"


def with_a_case_of_its_own(report: dict[str, Any]) -> None:
    row = next(row for row in report["cells"] if row["id"] == CELL)
    row |= {"case": "easy", "id": CELL.replace("add", "easy")}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_a_cell, f"cells {CELL} are not in the report"),
        (without_a_clause, "clauses lowering.outputs are not in the report"),
        (with_a_clause_of_its_own, "clauses own.clause are not of the contract"),
        (with_a_gentler_statement, "are stated otherwise in the contract"),
        (with_a_lower_level, "are stated otherwise in the contract"),
        (with_a_case_of_its_own, "are not of the contract's plan"),
    ],
)
def test_a_plan_that_is_not_the_contracts_gets_none(
    office: Office, whole: dict[str, Any], change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    report = copy.deepcopy(whole)
    change(report)
    code, said, _ = office.certify(reassembled(report))
    assert code == 1
    assert reason in said


def test_a_report_of_another_contract_gets_none_here(office: Office, whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["harness"]["contract"]["sha256"] = "0" * 64
    code, said, _ = office.certify(report)
    assert code == 1
    checked = f"the report is of contract {CONTRACT_VERSION} (000000000000), and here is"
    assert f"its plan cannot be checked: {checked}" in said


def test_a_report_in_which_everything_is_excused_gets_none(office: Office, whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    for row in report["cells"]:
        if row["verdict"] == "PASS":
            row["verdict"] = "NOT_APPLICABLE"
    code, said, _ = office.certify(reassembled(report))
    assert code == 1
    assert "clauses were shown by a PASS, and a level takes a third of them" in said


def test_who_may_replace_functions_gets_none(office: Office, whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["backend"]["replaces_functions"] = True
    code, said, _ = office.certify(report)
    assert code == 1
    assert "listed as a saboteur" in said


def changed_at(report: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with another value in one place."""
    report = copy.deepcopy(report)
    *parents, last = path.split("/")
    place: Any = report
    for part in parents:
        place = place[int(part) if isinstance(place, list) else part]
    place[int(last) if isinstance(place, list) else last] = value
    return report


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("run/complete", False, "run.complete"),
        ("plan/sha256", "0" * 64, "plan.sha256"),
        ("plan/deselected", 3, "certification.achieved"),
        ("summary/suites/lowering/PASS", 1, "summary.suites"),
        ("summary/clauses", {}, "summary.clauses"),
        ("availability/host", [], "availability.host"),
        ("certification/achieved", None, "certification.achieved"),
        ("certification/missing", ["something"], "certification.missing"),
        ("certification/excused", True, "certification.excused"),
        ("cells/0/level", "reported", "level of the cell"),
        ("cells/0/suite", "other", "suite of the cell"),
        ("cells/0/case", "other", "by its own columns"),
        ("cells/0/clause", "other", "is not among clauses"),
        ("cells/200/verdict", "FAIL", "summary.verdicts"),
    ],
)
def test_a_field_that_the_cells_do_not_bear_out_is_named(
    office: Office, whole: dict[str, Any], path: str, value: Any, field: str
) -> None:
    code, said, complained = office.certify(changed_at(whole, path, value))
    assert (code, said) == (2, "")
    assert "report.json contradicts itself" in complained
    assert field in complained
    assert len(complained.splitlines()) == 1
    assert not office.certificate.exists()


def test_two_cells_of_one_name_are_a_contradiction(office: Office, whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["cells"].append(report["cells"][0])
    code, _, complained = office.certify(reassembled(report))
    assert code == 2
    assert "stands there twice" in complained


def test_the_digest_of_the_plan_is_that_of_the_cells(whole: dict[str, Any]) -> None:
    assert whole["plan"]["sha256"] == digest_of_ids(row["id"] for row in whole["cells"])
