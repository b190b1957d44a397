"""Known failures still run, are held against what happens, and cannot rot."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from support.entries import entry

from conformance.api.verdicts import row_fails
from conformance.expectations import (
    DEFAULT,
    BackendRun,
    Expectations,
    ExpectationsError,
    ExpectationsFile,
    InstalledBackend,
    Kind,
    kinds_of,
    learn,
    read_entries,
)

TODAY = datetime.date(2026, 6, 1)
ONE, TWO = "1" * 12, "2" * 12
Row = dict[str, Any]


def cell(case: str = "add", clause: str = "toy.works", runtime: str = "full", host: str = "yes/yes") -> Row:
    """A planned cell."""
    place = {"clause": clause, "case": case, "runtime": runtime, "host": host, "target": None}
    return {"id": f"{clause}[{case}-{runtime}-{host}]", **place}


def ended(cell: Row, verdict: str = "FAIL", phase: str = "run", fingerprint: str = ONE, **more: Any) -> Row:
    """What a cell came to; a failure that repeated."""
    failed = {"phase": phase, "fingerprint": fingerprint, "repeated": 1, "message": "it broke"}
    held = verdict not in ("FAIL", "CRASH", "TIMEOUT", "FLAKY")
    return cell | {"verdict": verdict} | ({"phase": "", "message": ""} if held else failed) | more


def expectations(text: str, *, version: str = "1.2", strict: frozenset[Kind] = DEFAULT) -> Expectations:
    """The expectations of a text, for the backend ``toy``."""
    return Expectations(read_entries(text, "known.toml"), {"toy": InstalledBackend(version)}, strict)


def plan(known: Expectations, *rows: Row, idle: tuple[Row, ...] = ()) -> BackendRun:
    """A run of ``toy`` in which these rows came back, and ``idle`` cells were not selected."""
    judged = {row["id"]: known.judge(row, "toy") for row in rows}
    return BackendRun("toy", [*rows, *idle], judged)


# A row and its entry


@pytest.mark.parametrize(
    ("text", "row", "verdict", "fails"),
    [
        (entry(), ended(cell()), "XFAIL", False),
        (entry(phase='"run"', fingerprint=f'"{ONE}"'), ended(cell()), "XFAIL", False),
        (entry(), ended(cell(), "PASS"), "XPASS", True),
        (entry(), ended(cell(), "CRASH"), "XFAIL_MISMATCH", True),
        (entry(phase='"load"'), ended(cell()), "XFAIL_MISMATCH", True),
        (entry(fingerprint=f'"{TWO}"'), ended(cell()), "XFAIL_MISMATCH", True),
        (entry(), ended(cell(), "FLAKY"), "FLAKY", True),
        (entry(), ended(cell(), "UNSUPPORTED"), "UNSUPPORTED", False),
        (entry(case='"lstm"'), ended(cell()), "FAIL", True),
        (entry(case='["ls*", "a?d"]'), ended(cell()), "XFAIL", False),
        (entry(runtime='"lite"'), ended(cell()), "FAIL", True),
        (entry(host='"no/no"'), ended(cell()), "FAIL", True),
        (entry(versions='{backend = "<1"}'), ended(cell()), "FAIL", True),
        (entry(versions='{backend = ">=1,<2", python = ">=3", pytest = ">1"}'), ended(cell()), "XFAIL", False),
        (entry(versions='{no-such-thing = ">0"}'), ended(cell()), "FAIL", True),
        (entry(verdict="FLAKY", expires="2030-01-01"), ended(cell(), "FLAKY"), "XFAIL", False),
        (entry(verdict="FLAKY", expires="2030-01-01"), ended(cell()), "XFAIL", False),
        (entry(verdict="FLAKY", expires="2030-01-01"), ended(cell(), "PASS"), "XPASS", False),
        (entry(verdict="FLAKY", expires="2030-01-01", phase='"load"'), ended(cell()), "XFAIL_MISMATCH", True),
    ],
)
def test_a_cell_is_held_against_its_entry(text: str, row: Row, verdict: str, fails: bool) -> None:
    judged = expectations(text).judge(row, "toy")
    assert (judged["verdict"], row_fails(judged)) == (verdict, fails)


def test_the_first_entry_that_holds_speaks() -> None:
    known = expectations(entry(case='"l*"', versions='{backend = "<1"}') + entry(case='"add"') + entry(verdict="CRASH"))
    assert known.judge(ended(cell()), "toy")["expectation"]["number"] == 2
    assert known.judge(ended(cell("lstm"), "CRASH"), "toy")["expectation"]["number"] == 3


def test_a_row_says_what_was_expected_why_and_what_was_found() -> None:
    text = entry(issue='"them/theirs#12"', owner='"numerics"', expires="2030-01-01", fingerprint=f'"{TWO}"')
    row = expectations(text).judge(ended(cell()), "toy")
    assert row["message"] == f"expected FAIL, fingerprint {TWO} (known), found FAIL in run, fingerprint {ONE}: it broke"
    recorded = {"clause": "toy.works", "case": "*", "verdict": "FAIL", "reason": "known", "number": 1}
    links = {"issue": "them/theirs#12", "issue_url": "https://github.com/them/theirs/issues/12"}
    more = {"owner": "numerics", "expires": "2030-01-01", "fingerprint": TWO}
    found = {"found": "FAIL", "message": "it broke", "tolerated": False}
    assert row["expectation"] == recorded | links | more | found


def test_what_is_tolerated_fails_no_run() -> None:
    known = expectations(entry(), strict=frozenset({Kind.CHANGED}))
    assert not row_fails(known.judge(ended(cell(), "PASS"), "toy"))
    assert row_fails(known.judge(ended(cell(), "CRASH"), "toy"))
    known = expectations(entry(), strict=frozenset({Kind.PASSED}))
    assert not row_fails(known.judge(ended(cell(), "CRASH"), "toy"))


# An entry and its run


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (entry(), None),
        (entry("toy.work"), "there is no such clause (did you mean 'toy.works'?)"),
        (entry(case='"lstn"'), "the clause has no such case (did you mean 'lstm'?)"),
        (entry(case='"add"', runtime='"lite"'), "but not in that runtime"),
        (entry() + entry(case='"add"'), "entry 2, clause 'toy.works', case 'add' (known): earlier entries"),
        (entry("toy.refuses"), "its cells came to UNSUPPORTED"),
        (entry("toy.flickers"), None),
        (entry("toy.lost"), None),
        (entry("toy.turned-off"), None),
        (entry("toy.unselected"), None),
        (entry("nonsense", versions='{backend = "<1"}'), None),
        (entry(expires="2026-06-01"), None),
        (entry(expires="2026-05-31"), "expired on 2026-05-31"),
        (entry().replace("known", "TODO: say why. it broke"), "a person must say why of 1 expectations"),
    ],
)
def test_an_entry_that_says_nothing_any_more_is_a_fault(text: str, fault: str | None) -> None:
    known = expectations(text)
    rows = [ended(cell()), ended(cell("lstm")), ended(cell(clause="toy.refuses"), "UNSUPPORTED")]
    rows += [ended(cell(clause="toy.flickers"), "FLAKY"), ended(cell(clause="toy.lost"), "LOST")]
    rows += [ended(cell(clause="toy.turned-off"), "NOT_EXERCISED")]
    found = known.faults([plan(known, *rows, idle=(cell(clause="toy.unselected"),))], TODAY)
    assert len(found) == (fault is not None)
    assert all(str(fault) in each.text for each in found)


def test_an_entry_need_only_speak_of_one_of_several_backends() -> None:
    known = Expectations(read_entries(entry(), "f"), {"toy": InstalledBackend(""), "other": InstalledBackend("")})
    other = BackendRun("other", [cell(clause="their.own")], {})
    assert known.faults([plan(known, ended(cell())), other], TODAY) == []
    assert [each.kind for each in known.faults([other], TODAY)] == [Kind.UNMATCHED]


def test_a_version_that_does_not_match_is_said() -> None:
    known = expectations(entry(versions='{backend = ">=2"}') + entry(versions='{nowhere = ">1"}'))
    assert "backend is 1.2, not '>=2'" in known.skipped()[0]
    assert "nowhere has no version" in known.skipped()[1]


def test_strictness_is_a_list_of_kinds() -> None:
    assert kinds_of("passed, expired") == {Kind.PASSED, Kind.EXPIRED}
    assert kinds_of("all") == set(Kind)
    assert kinds_of("none") == set()
    with pytest.raises(ExpectationsError, match="did you mean 'expired'"):
        kinds_of("expire")


# What a run teaches

FILE = """\
# Known failures of toy.

# --- numbers ---

# The rounding of add.
[[expect]]
clause = "toy.works"   # the one and only
case = "*"
verdict = "FAIL"  # not a crash
reason = 'rounds "down"'
owner = "numerics"
[expect.versions]
backend = ">=1"

# --- artifacts ---

# Gone with the next release.
[[expect]]
clause = "toy.saves"
verdict="CRASH"
reason = "frees twice"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of expectations with comments."""
    path = tmp_path / "known.toml"
    path.write_text(FILE)
    return path


def update(path: Path, *rows: Row, idle: tuple[Row, ...] = ()) -> tuple[str, list[str]]:
    """Let a run with these rows update a file: its text then, and what is said."""
    file = ExpectationsFile(path)
    known = Expectations(file.entries, {"toy": InstalledBackend("1.2")})
    learned = learn(known, plan(known, *rows, idle=idle), TODAY)
    file.apply(learned)
    return path.read_text(), list(learned.said)


SAVES = ended(cell(clause="toy.saves"), "CRASH")


def test_what_is_as_recorded_stays_to_the_byte(path: Path) -> None:
    before = path.stat().st_mtime_ns
    assert update(path, ended(cell()), SAVES) == (FILE, [])
    assert path.stat().st_mtime_ns == before


def test_what_passed_is_removed_with_its_own_comment_only(path: Path) -> None:
    text, said = update(path, ended(cell(), "PASS"), SAVES)
    assert text == FILE[: FILE.index("# The rounding")] + FILE[FILE.index("# --- artifacts") :]
    assert "removed: entry 1" in said[0]
    text, said = update(path, ended(cell(), "PASS"), ended(SAVES, "PASS"))
    assert read_entries(text, "f") == ()
    assert "# --- artifacts ---" in text


def test_what_changed_is_changed_in_its_place(path: Path) -> None:
    text, said = update(path, ended(cell(), "CRASH"), SAVES | {"phase": "load"})
    assert text == FILE.replace('"FAIL"  # not', '"CRASH"  # not')
    assert said == [
        "changed: entry 1, clause 'toy.works', case '*' (rounds \"down\"): now clause 'toy.works', case '*': CRASH"
    ]


def test_an_entry_is_narrowed_to_what_still_fails(path: Path) -> None:
    text, _ = update(path, ended(cell()), ended(cell("lstm"), "TIMEOUT"), ended(cell("conv"), "PASS"), SAVES)
    one, two, three = read_entries(text, "f")
    assert (one.cases, one.verdict, two.cases, two.verdict) == (("add",), "FAIL", ("lstm",), "TIMEOUT")
    assert one.owner == two.owner == "numerics"
    assert one.versions == two.versions == {"backend": ">=1"}
    assert three.clause == "toy.saves"
    assert 'case = "add"\nverdict = "FAIL"  # not a crash\n' in text


@pytest.mark.parametrize("verdict", ["", "LOST", "FLAKY", "HARNESS_ERROR", "NOT_EXERCISED"])
def test_an_entry_with_a_cell_that_is_not_known_stays(path: Path, verdict: str) -> None:
    other = cell("lstm")
    rows = [ended(other, verdict)] if verdict else []
    text, said = update(path, ended(cell(), "PASS"), SAVES, *rows, idle=() if verdict else (other,))
    assert text == FILE
    assert "left as it is: entry 1" in said[0]


def test_a_failure_that_did_not_repeat_is_not_recorded(path: Path) -> None:
    once = ended(cell(clause="toy.loads"))
    del once["repeated"]
    assert update(path, ended(cell()), SAVES, once)[0] == FILE


def test_what_was_drawn_is_not_recorded_and_that_is_said(path: Path) -> None:
    drawn = ended(cell("matmul", clause="toy.drawn"), generated={"findings": []})
    del drawn["repeated"]
    text, said = update(path, ended(cell()), SAVES, drawn)
    assert text == FILE
    assert f"{drawn['id']}: an entry for it is yours to write" in said[-1]
    _, said = update(path, ended(cell()), SAVES, drawn | {"repeated": 1})
    assert [each.partition(":")[0] for each in said] == ["added"]


def test_an_entry_for_other_versions_stays_and_the_failure_here_is_added(path: Path) -> None:
    path.write_text(FILE.replace(">=1", ">=2"))
    text, _ = update(path, ended(cell()), SAVES)
    assert text.startswith(FILE.replace(">=1", ">=2"))
    assert [each.clause for each in read_entries(text, "f")] == ["toy.works", "toy.saves", "toy.works"]


def test_new_failures_are_added_few_entries_for_many_cells(tmp_path: Path) -> None:
    cells = [cell(f"case{n}", clause, runtime) for clause in "abcd" for n in range(4) for runtime in ("full", "lite")]
    a, b, c, d = (cells[n : n + 8] for n in range(0, 32, 8))
    rows = [ended(each) for each in a]
    rows += [ended(each, *(("FAIL",) if each["runtime"] == "lite" else ("PASS",))) for each in b]
    rows += [ended(each, *(("CRASH",) if each["case"] in ("case1", "case2") else ("UNSUPPORTED",))) for each in c]
    rows += [ended(each, fingerprint=TWO if each["case"] == "case3" else ONE) for each in d]
    text, said = update(tmp_path / "new.toml", *rows, idle=(cell("case9", "c"),))
    entries = read_entries(text, "f")
    assert [(each.clause, each.cases, each.runtime, each.verdict, each.fingerprint) for each in entries] == [
        ("a", ("*",), "", "FAIL", ONE),
        ("b", ("*",), "lite", "FAIL", ONE),
        ("c", ("case1", "case2"), "", "CRASH", ONE),
        ("d", ("case0", "case1", "case2"), "", "FAIL", ONE),
        ("d", ("case3",), "", "FAIL", TWO),
    ]
    assert {each.reason for each in entries} == {"TODO: say why. it broke"}
    assert {each.since for each in entries} == {TODAY}
    assert len(said) == 5
    again, said = update(tmp_path / "new.toml", *rows, idle=(cell("case9", "c"),))
    assert (again, said) == (text, [])


def test_a_file_that_cannot_be_updated_is_left_alone(path: Path) -> None:
    file = ExpectationsFile(path)
    known = Expectations(file.entries, {"toy": InstalledBackend("1.2")})
    path.write_text(FILE + "# somebody was here\n")
    with pytest.raises(ExpectationsError, match="changed while the run went on"):
        file.apply(learn(known, plan(known, ended(cell(), "PASS"), SAVES), TODAY))
    assert "somebody" in path.read_text()
    path.write_text('expect = [{clause = "a", verdict = "FAIL", reason = "b"}]\n')
    with pytest.raises(ExpectationsError, match="only entries that are written as"):
        ExpectationsFile(path)
    with pytest.raises(ExpectationsError, match="there is no folder"):
        ExpectationsFile(path / "below" / "known.toml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[expect]\n", "are not TOML"),
        ('[[expect]]\nclause = "a"\n', "entry 1 (line 1): it has no 'verdict', which must be one of FAIL"),
        (entry() + "\n" + entry(verdict="BAD"), "entry 2 (line 6), 'verdict': expected one of FAIL"),
        (entry(expries="2026-01-01"), "there is no field 'expries' (did you mean 'expires'?)"),
        (
            entry(since='"2026-01-01"'),
            "'since': expected a date without quotes, such as 2026-01-31, found '2026-01-01'",
        ),
        (entry(expires="2026-01-01T10:00:00"), "'expires': expected a date"),
        (entry(since="2026-02-30"), "are not TOML"),
        (entry(since="2026-02-01", expires="2026-01-01"), "it expires on 2026-01-01, before it began"),
        (entry(versions='{torch = "2.13 or so"}'), "'versions', 'torch': expected a version specifier (PEP 440)"),
        (
            entry(versions='{"" = ">=1"}'),
            "'versions': expected the name of a distribution, 'backend' or 'python', found ''",
        ),
        (entry(versions='">=2"'), "'versions': expected a table of version specifiers"),
        (entry(issue='"http://example.org/1"'), "'issue': expected an https address, or owner/repository#number"),
        (entry(issue='"#12"'), "'issue': expected"),
        (entry(fingerprint='"xyz"'), "'fingerprint': expected 12 hexadecimal digits"),
        (entry(host='"maybe"'), "'host': expected a state of availability"),
        (entry(case="[]"), "'case': expected the name of a case"),
        (entry().replace("known", " "), "'reason': expected a sentence that says why"),
        (entry(verdict="FLAKY"), "a FLAKY entry needs 'expires'"),
        ("expcet = []", "the top level: there is no field 'expcet' (did you mean 'expect'?)"),
        ("expect = 3", "'expect': expected tables that begin with [[expect]], found 3"),
    ],
)
def test_a_corrupt_file_is_explained(text: str, complaint: str) -> None:
    with pytest.raises(ExpectationsError) as error:
        read_entries(text, "known.toml")
    assert complaint in str(error.value)
    assert str(error.value).startswith("the expectations known.toml are")
    assert len(str(error.value).splitlines()) == 1
