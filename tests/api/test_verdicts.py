"""What authors write is checked, and every end of a clause has its verdict."""

from __future__ import annotations

import traceback

import pytest

from conformance import Environment, Features, Tolerance, features
from conformance.api.errors import (
    ConformanceFailure,
    DeviceDied,
    DeviceTimeout,
    HarnessError,
    SubjectError,
)
from conformance.api.verdicts import NotApplicable, Verdict, outcome_of
from conformance.contract import Level


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


def test_levels_include_those_before_them() -> None:
    assert Level.MOBILE.includes(Level.CORE)
    assert not Level.CORE.includes(Level.MOBILE)
    assert not Level.COMPLETE.includes(Level.REPORTED)


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
