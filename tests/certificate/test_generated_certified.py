"""Certificates of runs with generated cells: their seed and numbers, and another seed for the challenge."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from support import made_reports
from support.certificate_office import Office
from support.generated_rows import generated_clause
from support.made_reports import made_report

from conformance.certificate import challenge as challenges
from conformance.certificate import recompute
from conformance.certificate.challenge import Answer
from conformance.certificate.statement import load_certificate
from conformance.contract import shipped_clauses
from conformance.report import assemble
from conformance.run.plan import TURNED_OFF

VIEWS = "some.programs[views-full-yes/yes]"


@pytest.fixture(autouse=True)
def contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contract has a clause of generated cells."""
    clauses = (*shipped_clauses(), generated_clause())
    for module in (made_reports, recompute):
        monkeypatch.setattr(module, "shipped_clauses", lambda: clauses)


def told(office: Office) -> dict[str, Any]:
    """What the certificate says of its plan."""
    found: dict[str, Any] = office.statement()["predicate"]["configuration"][2]["annotations"]
    return found


def test_a_certificate_says_what_was_tried(office: Office) -> None:
    code, said, complained = office.certify(made_report(budget="1m"))
    assert code == 0, said + complained
    assert "some.programs" in office.statement()["predicate"]["passedTests"]
    assert {name: told(office)["generated"][name] for name in ("seed", "budget")} == {"seed": 7, "budget": "60s"}
    assert told(office)["generated"]["tried"]["some.programs"] == 20
    assert office.verify()[0] == 0
    assert load_certificate(office.certificate).seed == 7


def test_a_certificate_of_a_run_without_generated_cells_says_nothing_of_them(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tuple(each for each in shipped_clauses() if each.speaks_of.value != "generated")
    for module in (made_reports, recompute):
        monkeypatch.setattr(module, "shipped_clauses", lambda: plain)
    assert office.certify(made_report())[0] == 0
    assert set(told(office)) == {"cells", "shown"}
    assert load_certificate(office.certificate).budget == ""
    assert office.verify()[0] == 0


@pytest.mark.parametrize(
    ("budget", "reason"),
    [("0", TURNED_OFF), ("24", "each generated cell tried 24 programs, and a level takes 25")],
)
def test_a_run_that_generates_too_little_gets_none(office: Office, budget: str, reason: str) -> None:
    code, said, _ = office.certify(made_report(budget=budget))
    assert code == 1
    assert [line for line in said.splitlines() if line.startswith("  - ")] == [f"  - {reason}"]


def test_a_cell_that_was_turned_off_has_no_other_verdict(office: Office) -> None:
    report = made_report(budget="0", verdicts={VIEWS: "PASS"})
    code, said, _ = office.certify(report)
    assert code == 1
    assert f"cells {VIEWS} have a verdict that what the backend declares rules out" in said


def without_what_was_tried(report: dict[str, Any]) -> None:
    for row in report["cells"]:
        if row["id"] == VIEWS:
            del row["generated"]


def with_nothing_tried(report: dict[str, Any]) -> None:
    for row in report["cells"]:
        if row["id"] == VIEWS:
            row["generated"] |= {"tried": 0, "refused": {}}


@pytest.mark.parametrize("change", [without_what_was_tried, with_nothing_tried])
def test_a_cell_that_passes_says_what_it_tried(office: Office, change: Any) -> None:
    report = made_report()
    change(report)
    code, said, _ = office.certify(assemble(report, report["clauses"], report["cells"], 0, None))
    assert code == 1
    assert f"cells {VIEWS} passed, and do not say what they tried" in said


def test_a_cell_that_was_refused_everything_may_pass(office: Office) -> None:
    report = made_report()
    for row in report["cells"]:
        if row["id"] == VIEWS:
            row["generated"] |= {"tried": 0}
    code, said, complained = office.certify(assemble(report, report["clauses"], report["cells"], 0, None))
    assert code == 0, said + complained


def test_a_summary_that_the_cells_do_not_bear_out_is_named(office: Office) -> None:
    whole = made_report()
    changed = copy.deepcopy(whole)
    changed["generated"]["clauses"][0]["tried"] += 1
    assert "generated.clauses is " in office.certify(changed)[2]
    silent = {name: value for name, value in whole.items() if name != "generated"}
    assert "generated.values is None, and its cells say" in office.certify(silent)[2]
    made_up = copy.deepcopy(whole)
    for row in made_up["cells"]:
        row.pop("generated", None)
    assert "it has generated, of which its cells say nothing" in office.certify(made_up)[2]


def test_a_challenge_takes_another_seed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    def challenge(certificate: Any, library: Any, workers: int, say: Any, seed: int | None) -> Answer:
        asked.append(seed)
        return Answer(())

    monkeypatch.setattr(challenges, "challenge", challenge)
    assert office.certify(made_report())[0] == 0
    assert office.verify("--rerun")[0] == 0
    assert office.verify("--rerun", "--seed", "11")[0] == 0
    assert asked == [None, 11]
    code, _, complained = office.verify("--rerun", "--seed", "7")
    assert code == 2
    assert "--seed: the certificate was made from 7; a rerun takes another" in complained
    assert asked == [None, 11]


def test_a_random_seed_is_not_the_certificates(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter((7, 7, 8))
    commands: list[list[str]] = []
    said: list[str] = []

    class Done:
        stdout = ""

    def run(command: list[str], **how: Any) -> Done:
        commands.append(command)
        return Done()

    assert office.certify(made_report(budget="100"))[0] == 0
    monkeypatch.setattr(random.SystemRandom, "randrange", lambda self, most: next(drawn))
    monkeypatch.setattr(challenges, "_installed", lambda certificate, library: None)
    monkeypatch.setattr(challenges, "_strangers", lambda certificate, here: ())
    monkeypatch.setattr(challenges, "subjects", lambda backend: [])
    monkeypatch.setattr("subprocess.run", run)
    challenges.challenge(load_certificate(office.certificate), None, 1, said.append)
    assert {"--conformance-seed=8", "--conformance-generated=100"} <= set(commands[0])
    assert "with the seed 8, and a budget of 100 for generated cells" in said[0]
