"""What every command owes: one clear error and its exit code, whatever it is given and whatever fails beneath it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.certificate_office import CELL, Office
from support.made_reports import made_report, put
from support.project import Project

from conformance import cli
from conformance._util.seeds import seed_of
from conformance.api.errors import HarnessError
from conformance.contract import contract_digest
from conformance.discovery import selecting
from conformance.operators.table import Outcome, Tried, row_of, table_of
from conformance.selftest import trials

DOCUMENT = {
    "untried": 0,
    "score": {"caught": 1, "saboteurs": 1, "clauses": 1, "proven": 1},
    "unproven": [],
    "controls": [],
    "saboteurs": [],
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command writes that should have been refused is not left in the folder of whoever tests."""
    monkeypatch.chdir(tmp_path)


def fail(*arguments: Any, **named: Any) -> Any:
    raise HarnessError("the zygote is\x1b[2J gone")


@pytest.mark.parametrize(
    "arguments",
    [("goldens", "reference", "sets"), ("pack", "pack", "--backend", "reference"), ("selftest", "wrong_numbers")],
)
def test_a_harness_that_fails_says_so(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(selecting, "select", fail)
    monkeypatch.setattr(trials.Selftest, "__init__", fail)
    assert cli.main(arguments) == 11
    assert capsys.readouterr().err == "conformance: the harness itself failed: the zygote is gone\n"


@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "9" * 20, "9" * 5000, "1.5", "random"])
@pytest.mark.parametrize(
    "arguments", [("goldens", "reference", "sets"), ("pack", "pack", "--backend", "reference"), ("selftest",)]
)
def test_a_seed_is_a_number_that_every_device_and_report_has(
    arguments: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main([*arguments, f"--seed={text}"])
    assert end.value.code == 2
    assert "argument --seed: a whole number " in capsys.readouterr().err


def test_seeds_reach_as_far_as_they_are_said_to() -> None:
    assert [seed_of(text) for text in ("-2147483648", "0", "2147483647")] == [-(2**31), 0, 2**31 - 1]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--conformance-memory=inf", "--conformance-memory takes a positive number up to 1000000, found inf"),
        ("--conformance-memory=1e30", "--conformance-memory takes a positive number up to 1000000, found 1e+30"),
        ("--conformance-timeout=nan", "--conformance-timeout takes a positive number up to 1000000, found nan"),
        ("--conformance-seed=-2147483649", "--conformance-seed: a whole number from -2147483648 to 2147483647"),
        ("--conformance-seed=tomorrow", "--conformance-seed: a whole number is taken, found 'tomorrow'; or 'random'"),
    ],
)
def test_a_number_that_no_run_can_have_is_a_usage_error(project: Project, option: str, complaint: str) -> None:
    project.tell_of_torch()
    run = project.run("--backend=reference", option, "--rootdir=.")
    assert run.exit_code == 4
    assert complaint in run.output
    assert "torch was imported: False" in run.output


@pytest.mark.quick
def test_what_was_given_for_an_option_is_no_command_to_the_terminal(project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-goldens=no\x1b[31mne")
    assert run.exit_code == 4
    assert "--conformance-goldens: none holds no golden set" in run.output
    assert "\x1b" not in run.output


@pytest.mark.parametrize("what", ["score", "output"])
def test_a_self_test_that_cannot_be_kept_is_told_all_the_same(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    class Told:
        def __init__(self, *arguments: Any, **named: Any) -> None: ...

        def run(self, say: Any) -> dict[str, Any]:
            return {**DOCUMENT, "contract": contract_digest()}

    (tmp_path / "state").write_text("a file")
    (tmp_path / "output/selftest.md").mkdir(parents=True)
    monkeypatch.setattr(trials, "Selftest", Told)
    monkeypatch.setattr("conformance.selftest.matrix.result_text", lambda document, width: "1 of 1 caught")
    monkeypatch.setattr("conformance.selftest.matrix.matrix_markdown", lambda document: "# The matrix\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    arguments = ("--output", str(tmp_path / "output"), "--saboteurs-only") if what == "output" else ()
    assert cli.main(["selftest", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == "1 of 1 caught\n"
    assert said.err.startswith("conformance: the result above is not kept: ")
    assert said.err.count("\n") == 1


def test_the_page_of_a_scoreboard_is_not_its_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "report.json", made_report())
    assert cli.main(["scoreboard", str(tmp_path), "-o", str(tmp_path / "board.md")]) == 2
    assert "name the page, such as board.html" in capsys.readouterr().err
    assert not (tmp_path / "board.md").exists()


def test_no_name_of_an_operator_reaches_the_terminal_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = row_of("mul\x1b[2J\u202e", "float32\ud800", [Tried(Outcome.FAILED, "no\x1b[31m way")])
    path = tmp_path / "report.json"
    path.write_text(json.dumps(made_report() | {"operators": table_of([row])}))
    assert cli.main(["operators", str(path)]) == 0
    said = capsys.readouterr().out
    said.encode()
    assert said.count("mul\\u202e") == 2
    assert "float32\\ud800" in said
    assert "\x1b" not in said


def test_the_place_of_an_expectation_is_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = made_report(verdicts={CELL: "XFAIL"})
    row = next(row for row in report["cells"] if row["id"] == CELL)
    for number, code in ((3, 0), ([3], 2), ("3", 2)):
        row["expectation"] = {"reason": "known", "number": number}
        assert cli.main(["show", str(put(tmp_path / "report.json", report))]) == code
        assert ("/expectation/number: " in capsys.readouterr().err) == (code == 2)


@pytest.mark.parametrize("name", ["", "/", ".", "..", "a/b", "x" * 300])
def test_a_certificate_whose_report_has_no_name_of_a_file_is_none(office: Office, name: str) -> None:
    assert office.certify()[0] == 0
    statement = office.statement()
    statement["predicate"]["configuration"][0]["name"] = name
    office.certificate.write_text(json.dumps(statement))
    code, _, complained = office.verify()
    assert code == 2
    assert "is no certificate of a report: at predicate/configuration/0/name" in complained


def test_a_name_that_no_file_can_have_is_that_of_no_report(office: Office) -> None:
    assert office.certify()[0] == 0
    statement = office.statement()
    statement["predicate"]["configuration"][0]["name"] = "é" * 200
    office.certificate.write_text(json.dumps(statement))
    code, _, complained = office.verify()
    assert code == 2
    assert "is not beside it" in complained


@pytest.mark.parametrize("path", [".", "/"])
def test_a_folder_is_neither_a_report_nor_a_key(office: Office, path: str) -> None:
    code, _, complained = office.run("certify", path)
    assert (code, complained) == (2, f"conformance: {path} cannot be read: Is a directory\n")
    code, _, complained = office.run("certify", "--new-key", path)
    assert code == 2
    assert f"the key cannot be written to {path}: " in complained


def test_an_interruption_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(selecting, "select", interrupt)
    assert cli.main(["goldens", "reference", "sets"]) == 130
    assert capsys.readouterr().err == "conformance: interrupted\n"
