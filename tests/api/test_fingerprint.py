"""A failure has one fingerprint wherever and whenever it happens, and another failure has another."""

from __future__ import annotations

from typing import Any

import pytest

from conformance._util.privacy import without_paths
from conformance.api.fingerprint import fingerprint, normalised

DIFFER = "{}.{}: {} of 6 elements differ beyond rtol=1.3e-06, atol=1e-05; worst at {}: expected {}, found {}"
ASSERTION = {"type": "assertion"}


def of(message: str, error: dict[str, Any] | None = None, **changed: str) -> str:
    """The fingerprint of a FAIL in run of lowering.outputs."""
    facts = {"clause": "lowering.outputs", "verdict": "FAIL", "phase": "run", "case": "add"} | changed
    return fingerprint(message=message, error=error, **facts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("found -1.5e-06 at [0]", "found 57116 at [2, 3]"),
        ("expected nan, found 1+2j", "expected 0.5, found -3.25-1e+08j"),
        ("at 0x7f2a1b", "at 0xDEAD01"),
        ("cannot open /tmp/tmpab12/model.pt: gone", "cannot open /home/me/x/other.pt: gone"),
        ('File "/opt/venv/lib/a.py", line 3', 'File "/usr/lib/python3/b.py", line 14'),
        ("no class ___torch_mangle_7.Net", "no class ___torch_mangle_12.Net"),
        ("shape torch.Size([2, 3])", "shape torch.Size([])"),
        ("digest 0123456789abcdef", "digest ffffffff0123"),
        ("character 17 became '#'", "character 20 became '1'"),
        ("RuntimeError: it broke", "RuntimeError: RuntimeError: it broke"),
    ],
)
def test_what_varies_is_no_difference(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert of(one) == of(other) == of(without_paths(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("expected float32", "expected float64"),
        ("aten::add is refused", "aten::mul is refused"),
        ("no class Net", "no class Other"),
        ("deadbeefs are bad", "decades are bad"),
    ],
)
def test_what_is_said_is_a_difference(one: str, other: str) -> None:
    assert of(one) != of(other)


def test_everything_that_tells_failures_apart_counts() -> None:
    error = {"signal": "SIGSEGV", "exit_code": None}
    assert of("m") != of("m", clause="lowering.weights")
    assert of("m") != of("m", verdict="CRASH")
    assert of("m") != of("m", phase="load")
    assert len({of("m"), of("m", error), of("m", error | {"signal": "SIGABRT"}), of("m", {"exit_code": 3})}) == 4
    assert of("m", {"type": "ValueError", "stack": "a"}) == of("m", {"type": "ValueError", "stack": "b"})
    assert of("m", {"type": "ValueError"}) != of("m", {"type": "KeyError"})


def test_the_case_is_no_part_of_what_a_clause_says_and_may_be_of_what_a_backend_says() -> None:
    add = of(DIFFER.format("add", "forward", 5, "[0, 1]", 2.4, 0), ASSERTION)
    assert add == of(DIFFER.format("lstm", "encode", 1, "[3]", -1, "nan"), ASSERTION, case="lstm")
    raised = {"type": "RuntimeError"}
    assert of("RuntimeError: add is refused", raised) == of("RuntimeError: add is refused", raised, case="lstm")
