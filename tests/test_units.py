"""The parts that need no process: comparison, certification, plans, archives, features."""

from __future__ import annotations

import math
import re
import traceback
from typing import Any

import pytest
import torch

from conformance import Environment, Features, Tolerance, features
from conformance.api.availability import Availability
from conformance.api.errors import (
    ConformanceFailure,
    DeviceDied,
    DeviceEnded,
    DeviceTimeout,
    HarnessError,
    SubjectError,
)
from conformance.api.verdicts import NotApplicable, Verdict, outcome_of
from conformance.compare.comparison import assert_close, assert_equal, comparing
from conformance.compare.values import decode, encode
from conformance.contract import Level, shipped_clauses
from conformance.discovery.describing import Candidate
from conformance.discovery.selecting import _with_options
from conformance.report._certification import certification
from conformance.report.row_model import CellRow
from conformance.standalone.reproducers._main import StepReport
from conformance.standalone.reproducers._replay import Replay
from conformance.toolchains import Source


@pytest.mark.parametrize(
    ("actual", "expected", "complaint"),
    [
        (torch.ones(2), torch.ones(3), "expected shape"),
        (torch.ones(2, dtype=torch.float64), torch.ones(2), "expected dtype torch.float32, found torch.float64"),
        (
            torch.tensor([1.0, 1.1]),
            torch.ones(2),
            "1 of 2 elements differ beyond rtol=1.3e-06, atol=1e-05; worst at [1]",
        ),
        (torch.tensor([0.0]), torch.tensor([math.nan]), "expected nan, found 0"),
        (torch.tensor([math.inf]), torch.tensor([-math.inf]), "expected -inf, found inf"),
        (torch.tensor([math.nan]), torch.tensor([1.0]), "expected 1, found nan"),
        (torch.tensor([2**53 + 1]), torch.tensor([2**53]), f"expected {2**53}, found {2**53 + 1}"),
        (torch.tensor([-(2**63)]), torch.tensor([0]), f"expected 0, found {-(2**63)}"),
        (torch.tensor([5, 7], dtype=torch.uint8), torch.tensor([5, 8], dtype=torch.uint8), "worst at [1]: expected 8"),
        (torch.tensor([True]), torch.tensor([False]), "expected False, found True"),
        (torch.ones(2), (torch.ones(2),), "expected a tuple of 1"),
        ((1, 2), [1, 2], "expected a list of 2"),
        (1.0, 1, "expected int 1, found float 1.0"),
        (True, 1, "expected int 1, found bool True"),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, "expected a dict with the keys ['a', 'b']"),
        (None, torch.ones(1), "found NoneType"),
    ],
)
def test_what_differs_is_told(actual: Any, expected: Any, complaint: str) -> None:
    with pytest.raises(ConformanceFailure) as failure:
        assert_close(actual, expected, "f")
    assert complaint in str(failure.value)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_a_margin_is_a_number_even_where_nothing_was_allowed(dtype: torch.dtype) -> None:
    with comparing({"float64": (0.0, 0.0)}) as margin, pytest.raises(ConformanceFailure):
        assert_close(torch.tensor([10**12], dtype=dtype), torch.tensor([0], dtype=dtype), "the output")
    row = margin.as_row()
    assert math.isfinite(row["used"])
    assert row["used"] > 1
    assert row["absolute"] == 10**12
    (budget,) = row["budgets"].values()
    assert budget["origin"] == ("author" if dtype is torch.float64 else "exact")


def test_what_is_close_passes_and_its_margin_is_kept() -> None:
    with comparing({}) as margin:
        assert_close(torch.tensor([1.0 + 5e-6]), torch.ones(1), "f")
        assert_close(torch.tensor([math.nan, math.inf]), torch.tensor([math.nan, math.inf]), "f")
        assert_close(torch.empty(0, 3), torch.empty(0, 3), "f")
    assert margin.comparisons == 3
    row = margin.as_row()
    assert 0.3 < row["used"] < 0.6
    assert (row["dtype"], row["budgets"]["float32"]["origin"]) == ("float32", "default")
    with comparing({"float32": (0.5, 0.0)}):
        assert_close(torch.tensor([1.4]), torch.ones(1), "f")
    with pytest.raises(ConformanceFailure):
        assert_equal(torch.tensor([1.0 + 1e-6]), torch.ones(1), "f")
    with pytest.raises(ConformanceFailure):
        assert_equal(torch.tensor([-0.0]), torch.tensor([0.0]), "f")


def test_values_survive_the_way_between_processes() -> None:
    shared = torch.randn(4, 6)
    value = (shared[::2].t(), [shared, {"k": torch.tensor(1, dtype=torch.bfloat16)}], None, 2.5, "ü", True, 1 << 40)
    back = decode(encode(value))
    assert back[0].stride() == value[0].stride()
    assert back[0].untyped_storage().data_ptr() == back[1][0].untyped_storage().data_ptr()
    assert_equal(back, value, "value")


@pytest.mark.parametrize(
    ("error", "verdict", "phase", "message"),
    [
        (None, Verdict.PASS, "", ""),
        (ConformanceFailure("wrong"), Verdict.FAIL, "run", "wrong"),
        (SubjectError("load", "RuntimeError", (), "no"), Verdict.FAIL, "load", "RuntimeError: no"),
        (DeviceDied("save", -11), Verdict.CRASH, "save", "the process killed by SIGSEGV during save"),
        (DeviceDied("save", 0), Verdict.CRASH, "save", "the process exited with code 0 during save"),
        (DeviceTimeout("lower", 2), Verdict.TIMEOUT, "lower", "lower did not come back within 2 s"),
        (HarnessError("oops"), Verdict.HARNESS_ERROR, "run", "oops"),
        (KeyError("oops"), Verdict.HARNESS_ERROR, "run", "KeyError: 'oops'"),
        (NotApplicable("why"), Verdict.NOT_APPLICABLE, "", "why"),
    ],
)
def test_every_end_has_its_verdict(error: BaseException | None, verdict: Verdict, phase: str, message: str) -> None:
    outcome = outcome_of(error, "run")
    assert (outcome.verdict, outcome.phase, outcome.message) == (verdict, phase, message)


def test_a_stack_does_not_say_again_what_the_exception_says() -> None:
    try:
        raise RuntimeError("one\n  two:\n")
    except RuntimeError as error:
        stack, text = traceback.format_exc(), str(error)
    found = outcome_of(SubjectError("run", "RuntimeError", (), text, stack), "run").error
    assert found is not None
    assert found["text"] == text
    assert found["stack"].splitlines()[0] == "Traceback (most recent call last):"
    assert found["stack"].splitlines()[-1] == "RuntimeError"
    assert "two" not in found["stack"].replace('raise RuntimeError("one\\n  two:\\n")', "")


def row(clause: str, level: str, verdict: str, host: str = "yes/yes", target: str | None = "yes/yes") -> CellRow:
    """A cell, with the columns that a certificate looks at."""
    return CellRow(
        id=f"{clause}[a-full-{host}]",
        clause=clause,
        suite="a",
        level=Level(level),
        case="a",
        runtime="full",
        host=Availability(host),
        target=None if target is None else Availability(target),
        verdict=Verdict(verdict),
        phase="",
        message="",
        seconds={},
    )


WHOLE = [row("a", "core", "PASS"), row("b", "mobile", "PASS"), row("b", "mobile", "PASS", "no/no", "no/no")]


@pytest.mark.parametrize(
    ("cells", "achieved", "missing"),
    [
        (WHOLE, "mobile", ""),
        ([*WHOLE, row("c", "reported", "FAIL")], "mobile", ""),
        ([*WHOLE, row("c", "mobile", "FAIL")], "core", "c: FAIL in 1 of 1 cells"),
        ([*WHOLE, row("a", "core", "CRASH")], None, "a: CRASH in 1 of 2 cells"),
        ([*WHOLE, row("a", "core", "LOST")], None, "a: LOST in 1 of 2 cells"),
        ([*WHOLE, row("a", "core", "XFAIL")], None, "a: XFAIL in 1 of 2 cells"),
        ([*WHOLE, row("a", "core", "HARNESS_ERROR")], None, "a: HARNESS_ERROR"),
        ([*WHOLE, row("b", "mobile", "NOT_EXERCISED", "yes/no")], "mobile", ""),
        ([*WHOLE, row("native.a", "mobile", "NOT_EXERCISED"), row("native.b", "mobile", "PASS")], "mobile", ""),
        (
            [*WHOLE, row("native.a", "mobile", "NOT_EXERCISED")],
            "core",
            "nothing was exercised in a program without Python",
        ),
        (
            [WHOLE[0], WHOLE[1], row("b", "mobile", "NOT_EXERCISED", "no/no", "no/no")],
            "core",
            "availability no/no on the host was not exercised",
        ),
    ],
)
def test_a_level_is_what_the_cells_show(cells: list[CellRow], achieved: str | None, missing: str) -> None:
    found = certification(cells, None, deselected=0)
    assert found.level is Level.MOBILE
    assert found.achieved == (Level(achieved) if achieved else None)
    assert missing in " ".join(found.missing)
    assert bool(found.missing) == (achieved != "mobile")
    assert found.excused == (missing == "a: XFAIL in 1 of 2 cells")


def test_levels_include_those_before_them() -> None:
    assert Level.MOBILE.includes(Level.CORE)
    assert not Level.CORE.includes(Level.MOBILE)
    assert not Level.COMPLETE.includes(Level.REPORTED)


def test_the_contract_is_whole() -> None:
    clauses = shipped_clauses()
    ids = [each.id for each in clauses]
    assert len(set(ids)) == len(ids)
    floor = """
        lowering.methods lowering.outputs lowering.original-untouched lowering.inputs-untouched lowering.output-types
        lowering.spec-intact lowering.bad-spec lowering.unregistered lowering.registered-once lowering.refusal
        lowering.twice lowering.preprocess-once lowering.deterministic lowering.weights lowering.delegated
        composition.nested composition.selective composition.several composition.deepcopy
        save-load.same-outputs save-load.spec save-load.again save-load.attributes save-load.extra-files
        save-load.unknown-backend save-load.damaged save-load.older save-load.no-host-paths
        lite.same-outputs lite.types lite.unknown-backend lite.damaged lite.again lite.operators lite.composition
        availability.lost availability.regained availability.stable
        bundled.after-lowering bundled.runs bundled.methods bundled.info bundled.inflatable bundled.unavailable
        bundled.before-lowering
    """
    assert set(floor.split()) <= set(ids)
    assert all(re.search(r"pytorch/pytorch#\d|https://docs\.pytorch\.org/", each.source) for each in clauses)


def test_what_an_author_writes_is_checked() -> None:
    with pytest.raises(TypeError, match=r"takes a conformance\.features\.Feature, not str"):
        Features.all().without("loops", "no")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="say why 'loops' is missing"):
        Features.all().without(features.loops, " ")
    with pytest.raises(ValueError, match=r"Tolerance\.rtol is a number from 0 to below 1"):
        Tolerance(rtol=1.5, atol=0)
    lacking = Features.none("too small").including(features.loops)
    assert features.loops in lacking
    assert features.fork not in lacking
    assert dict(Environment(A="1", B=None)) == {"A": "1", "B": None}


def test_options_hide_nothing_of_a_backend_that_cannot_be_used() -> None:
    broken = Candidate(Source("broken"), problem="import raised ModuleNotFoundError: no vendor")
    assert _with_options(broken, [{"level": 1}]) == [broken]


def test_a_script_says_what_a_step_came_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.standalone.reproducers._replay.VERBS", {1: "run"})
    replay = Replay({1: StepReport(1, "run", came_to="did not come back in time", stderr="a stack")})
    with pytest.raises(DeviceEnded) as ended:
        replay.answer("run", "run")
    assert str(ended.value) == "the process did not come back in time during run"
    assert ended.value.stderr == "a stack"
