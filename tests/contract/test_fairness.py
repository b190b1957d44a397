"""A backend is charged with what somebody has documented: every graded clause says what it rests on."""

from __future__ import annotations

import re

import pytest
from support.places import REPOSITORY

from conformance.api.clause import clause
from conformance.api.errors import ConformanceFailure, DeviceDied, SubjectError
from conformance.api.promise import Promise
from conformance.contract import Clause, Level, contract_clauses, shipped_clauses
from conformance.run.result import Record

GRADED = [each for each in contract_clauses() if each.level is not Level.REPORTED]
PAGE = REPOSITORY / "docs" / "fairness.md"
#: Where a promise may stand: an issue, a page, what the backend's author said, or what ships with PyTorch or with us.
PLACE = (
    r"[\w-]+/[\w-]+#\d+$|https://|the features that|the golden sets that|the documentation of conformance\.|op_db of"
)
#: Clauses that report as a whole what they once graded.
REPORTED = ("guards.one-shape-env", "guards.unbacked-sizes", "modes.unknown-options", "modes.threads-lower")


@pytest.mark.parametrize("graded", GRADED, ids=lambda each: each.id)
def test_a_graded_clause_rests_on_a_promise(graded: Clause) -> None:
    assert graded.promises, f"{graded.id} is graded: say what it rests on (Promise), or state it as Level.REPORTED"
    for promise in graded.promises:
        assert re.match(PLACE, promise.source), promise


def test_no_two_promises_are_one_sentence() -> None:
    promises = {promise for each in GRADED for promise in each.promises}
    assert len(promises) > 30
    assert len({promise.says for promise in promises}) == len(promises)


@pytest.mark.parametrize("name", REPORTED)
def test_what_nobody_promises_is_reported(name: str) -> None:
    (found,) = [each for each in contract_clauses() if each.id == name]
    assert found.level is Level.REPORTED
    assert found.statement.startswith("Whether ")
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")


def test_the_page_names_clauses_that_are_there() -> None:
    named = set(re.findall(r"`([a-z-]+\.[a-z-]+)(?:\[\w+\])?`", PAGE.read_text(encoding="utf-8")))
    known = {each.id for each in shipped_clauses()}
    assert len(named) > 20
    assert named <= known


def test_a_clause_tells_where_its_promises_stand() -> None:
    one, other = Promise("pytorch/pytorch#1", "It is so."), Promise("pytorch/pytorch#2", "It is otherwise.")

    @clause("scratch.promised", source=(one, other, one), level=Level.CORE)
    def test_it(host: object) -> None:
        """It is as it is promised."""

    stated: Clause = test_it.__clause__  # type: ignore[attr-defined]
    assert stated.source == "pytorch/pytorch#1, pytorch/pytorch#2"
    assert stated.promises == (one, other, one)


@pytest.mark.parametrize(("source", "says"), [("", "It is so."), ("pytorch/pytorch#1", ""), ("#1", "no sentence")])
def test_a_promise_says_something(source: str, says: str) -> None:
    with pytest.raises(ValueError, match="a promise has a source"):
        Promise(source, says)


def test_what_is_reported_is_noted_and_the_clause_goes_on() -> None:
    record = Record()
    with record.reporting():
        raise ConformanceFailure("0.3 s where 0.1 s were expected")
    with record.reporting():
        raise SubjectError("run", "builtins.RuntimeError", (), "busy")
    assert record.reported == ["0.3 s where 0.1 s were expected", "builtins.RuntimeError in run: busy"]
    assert record.notes[0] == "Reported, not graded: 0.3 s where 0.1 s were expected"


def test_a_crash_is_not_only_reported() -> None:
    record = Record()
    with pytest.raises(DeviceDied), record.reporting():
        raise DeviceDied("run", 134)
    assert not record.reported


def test_every_reported_part_of_a_clause_has_a_saboteur() -> None:
    """A look that nothing shows to see anything proves nothing: what reports is named by one with that verdict."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "plugins/saboteurs").rglob("*.py"))]
    caught = {
        name
        for text in texts
        for listed in re.findall(r"@saboteur\(([^)]*verdicts=\(REPORTED[^)]*)\)", text)
        for name in re.findall(r'"([a-z-]+\.[a-z-]+)"', listed)
    }
    assert _reporting() - caught <= {
        # the same helper as of modes.lowering-leaves-no-trace
        *("modes.running-leaves-no-trace", "modes.errors-leave-no-trace"),
        # what a flag brings about, as in guards.unbacked-sizes
        "compile.refusal",
    }


def _reporting() -> set[str]:
    found = set()
    suites = {REPOSITORY / "suites" / each.toolchain / f"test_{each.suite}.py" for each in contract_clauses()}
    for path in sorted(suites):
        for part in re.split(r"\n(?=@\w*clause\()", path.read_text(encoding="utf-8"))[1:]:
            if "record.reporting()" in part or ", record)" in part:
                found.update(re.findall(r'clause\(\s*"([\w.-]+)"', part)[:1])
    return found
