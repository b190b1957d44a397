"""Failures grouped by what is wrong: one bug is one cause, two bugs are two, and each can be tried again."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import torch
from support.example_reports import cell
from support.generated_rows import FINDING, generated
from support.small_reports import report_of

from conformance.api.verdicts import Verdict, outcome_of
from conformance.compare.comparison import Difference, assert_close
from conformance.report.causes import Cause, causes_of, cells_with
from conformance.report.model import Report
from conformance.report.parts import read_part

ONES = torch.ones(2, 3)
WRONG_VALUE = "{}.forward: 2 of 6 elements differ beyond rtol=1e-5, atol=1e-8; worst at [0, 1]: expected 3, found {}"


def failing(case: str, message: str, clause: str = "lowering.outputs", **more: Any) -> dict[str, Any]:
    """A cell in which an assertion of its clause failed."""
    return cell(case, Verdict.FAIL, clause, message=message, error={"type": "assertion", "text": message}, **more)


def report_with(*rows: dict[str, Any], **changed: Any) -> Report:
    """A small report with these cells."""
    return read_part(Report, report_of(*rows, **changed))


def causes(*rows: dict[str, Any], **changed: Any) -> tuple[Cause, ...]:
    """Those of a small report with these cells."""
    return causes_of(report_with(*rows, **changed))


def difference(actual: Any, expected: Any) -> str:
    """What a comparison says of two values that differ."""
    with pytest.raises(Difference) as raised:
        assert_close(actual, expected, "add.forward")
    return outcome_of(raised.value, "run").message


def test_one_bug_is_one_cause_in_every_model_and_clause() -> None:
    cause, *others = causes(
        cell("passes", Verdict.PASS),
        failing("conv", WRONG_VALUE.format("conv", 4.5)),
        failing("add", WRONG_VALUE.format("add", -1e9)),
        failing("add", WRONG_VALUE.format("add", 7), "lite.same-outputs"),
    )
    assert others == []
    assert [row.id.partition("[")[0] for row in cause.cells] == [
        "lowering.outputs",
        "lowering.outputs",
        "lite.same-outputs",
    ]
    assert cause.cases == ("conv", "add")
    assert cause.clauses == ("lowering.outputs", "lite.same-outputs")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ONES.double(), 2 * ONES),
        (ONES.double(), ONES.int()),
        (ONES.double(), torch.ones(3, 2)),
        (torch.ones(3, 2), 2 * ONES),
        (ONES.to_sparse(), 2 * ONES),
        (1, 2 * ONES),
        ((ONES,), 2 * ONES),
    ],
)
def test_what_differs_in_another_way_is_another_cause(one: Any, other: Any) -> None:
    found = causes(failing("add", difference(one, ONES)), failing("conv", difference(other, ONES)))
    assert len(found) == 2, [cause.message for cause in found]


def test_a_crash_comes_before_what_fails_more_often() -> None:
    died = cell("c", Verdict.CRASH, message="the process killed by SIGSEGV during run", error={"signal": "SIGSEGV"})
    gone = cell("d", Verdict.FLAKY, message="now and then")
    found = causes(gone, failing("a", "expected 1"), failing("b", "expected 2"), died)
    assert [cause.verdict for cause in found] == [Verdict.CRASH, Verdict.FAIL, Verdict.FLAKY]
    assert [len(cause.cells) for cause in found] == [1, 2, 1]


def test_the_symbols_of_sizes_are_no_causes_of_their_own() -> None:
    texts = [f"AssertionError: sources must not be empty for symbol s{number}" for number in (31, 96)]
    assert len(causes(*(failing("ab"[place], text) for place, text in enumerate(texts)))) == 1


def test_the_example_is_the_earliest_case_of_the_corpus_that_has_a_script() -> None:
    script = {"reproducer": {"script": "reproducers/add/reproduce.py"}}
    rows = [failing("conv", "expected 1"), failing("add", "expected 2"), failing("mul", "expected 3")]
    order = [cell(case, Verdict.PASS, "some.other") for case in ("add", "mul", "conv")]
    assert causes(*order, *rows)[0].example.case == "add"
    assert causes(*order, *rows)[0].reproducer == ""
    cause = causes(*order, rows[0] | script, *rows[1:])[0]
    assert (cause.example.case, cause.reproducer) == ("conv", "reproducers/add/reproduce.py")


def test_what_is_generated_is_grouped_by_the_smallest_program() -> None:
    other = FINDING | {"cause": "sort / dtype", "operators": ["sort"], "fingerprint": "ba9876543210", "count": 2}
    small = FINDING | {"source": "torch.addmm", "inputs": ["float32[1]"], "count": 5}
    rows = [
        failing("views", "many", "some.programs", generated=generated(findings=[FINDING, other])),
        failing("calls", "many", "some.programs", generated=generated(findings=[small])),
    ]
    first, second = causes(*rows)
    assert (first.id, first.title, first.programs, len(first.cells)) == ("0123456789ab", FINDING["cause"], 8, 2)
    assert first.inputs == ("float32[1]",)
    assert (second.id, second.title, second.programs) == ("ba9876543210", "sort / dtype", 2)


def test_a_script_of_another_finding_is_not_shown() -> None:
    other = FINDING | {"cause": "sort / dtype", "operators": ["sort"], "fingerprint": "ba9876543210"}
    found = generated(findings=[FINDING, other])
    row = failing("views", "m", "some.programs", generated=found, reproducer={"script": "reproducers/x/reproduce.py"})
    assert [cause.reproducer for cause in causes(row)] == ["reproducers/x/reproduce.py", ""]


def test_grounds_say_how_often_it_failed_and_what_pytorch_does() -> None:
    row = failing("add", "expected 1", repeated=2)
    cause = causes(row)[0]
    assert cause.grounds[0] == "it failed 3 times in the same way, in fresh processes"
    assert "PyTorch without the backend does not fail so in the same cell" in cause.grounds
    assert any("saboteurs" in text for text in cause.grounds)
    (unknown,) = causes(failing("add", "expected 1", "some.other"))
    assert unknown.grounds == ()


def test_a_known_failure_is_no_cause() -> None:
    assert causes(cell("add", Verdict.XFAIL), cell("mul", Verdict.PASS), cell("x", Verdict.UNSUPPORTED)) == ()


def test_ids_are_the_same_in_another_run() -> None:
    one = causes(failing("add", WRONG_VALUE.format("add", 7)))[0]
    other = causes(failing("mul", WRONG_VALUE.format("mul", 8), "lite.same-outputs"), run__seed=3)[0]
    assert one.id == other.id


def test_the_command_repeats_what_decides_a_cell() -> None:
    argv = ["--backend=toy", "--conformance-library=<path>", "-k", "x", "--conformance-compile-options={}"]
    changed = {"run__argv": argv, "run__seed": 5, "run__generated": "9", "backend__options": {"a b": True}}
    (cause,) = causes(failing("add", "expected 1"), **changed, target__spec="native")
    assert shlex.split(cause.rerun_command) == [
        "pytest",
        "--backend=toy",
        "--conformance-library=LIBRARY",
        '--conformance-compile-options={"a b": true}',
        "--conformance-seed=5",
        "--conformance-target=native",
        "--conformance-generated=9",
        "--conformance-select=lowering.outputs[add-full-yes/yes]",
    ]


def test_cells_are_found_by_the_ids_of_causes_and_by_fingerprints() -> None:
    rows = [
        failing("add", "expected 1", fingerprint="a" * 12),
        failing("mul", "expected 1", "lite.same-outputs", fingerprint="b" * 12),
    ]
    report = report_with(*rows)
    (cause,) = causes_of(report)
    assert cells_with(report, [cause.id, "b" * 12, "c" * 12]) == {
        cause.id: (rows[0]["id"], rows[1]["id"]),
        "b" * 12: (rows[1]["id"],),
    }
