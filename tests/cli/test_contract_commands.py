"""``conformance clauses`` and ``explain``: the contract and its proofs, for people and for other tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.cli import main
from conformance.contract import contract_digest, shipped_clauses
from conformance.contract.evidence import Evidence, shipped_evidence


def _printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def _clauses(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    assert document["format"] == "torch-conformance-clauses/1"
    assert document["contract"]["sha256"] == contract_digest()
    clauses: list[dict[str, Any]] = document["clauses"]
    return clauses


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The width of a terminal, and of a pipe."""
    monkeypatch.setenv("COLUMNS", "80")


def test_other_tools_can_read_all_clauses(capsys: pytest.CaptureFixture[str]) -> None:
    clauses = _clauses(_printed(capsys, "clauses", "--format=json"))
    assert [each["id"] for each in clauses] == [each.id for each in shipped_clauses()]
    for each in clauses:
        assert all(each[name] for name in ("statement", "source", "level", "suite", "function", "runtimes", "hosts"))
        assert "\n" not in each["statement"]


def test_the_proofs_are_those_of_the_kill_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    (clause,) = _clauses(_printed(capsys, "explain", "save-load.damaged", "--format=json", "--source"))
    names = [each["name"] for each in clause["saboteurs"]]
    assert names == [kill.saboteur for kill in shipped_evidence().of("save-load.damaged")]
    assert "crashes_on_damage" in names
    assert clause["code"].startswith("@clause(")
    assert f"def {clause['function']}(" in clause["code"]


def test_a_clause_is_explained_with_proofs_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, "explain", "save-load.damaged")
    assert "crashes_on_damage: Reads beyond the end of a damaged processed module. CRASH" in text
    assert "def test_" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "def test_damaged_program(" in _printed(capsys, "explain", "save-load.damaged", "--source")


def test_the_list_of_clauses_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, "clauses")
    assert max(map(len, text.splitlines())) <= 80
    assert all(clause.id in text for clause in shipped_clauses())


def test_a_clause_without_proof_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.cli._contract.shipped_evidence", lambda: Evidence("2.13.0", "other", {}))
    text = " ".join(_printed(capsys, "explain", "lowering.outputs").split())
    assert "proven by 0 saboteurs of the self-test (torch 2.13.0), when the contract was another one" in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["explain", "lowering.output"], "Close to it: lowering.outputs"),
        (["clauses", "--suite", "nothing"], "the suites are"),
        (["selftest", "--output", "/dev/null/x"], "cannot be made a folder"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert not said.out
    assert complaint in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["new"], ["explain"], ["explain", "x", "--format=xml"]])
def test_a_wrong_command_line_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("conformance")
    assert "--help" in said
    assert len(said.splitlines()) == 1
