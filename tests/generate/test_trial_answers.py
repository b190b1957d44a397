"""What devices say of trials: the same for all that come to the same, and refused where it is not what it should be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.api.errors import GarbledValue
from conformance.compare.packed import packed, unpacked
from conformance.generate.answers import answered, read
from conformance.generate.makers import Shadow
from conformance.generate.play import play
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.steps import Call, Step, Trial

FLOAT = TensorSpec("float32", (5, 3), seed=3)
PROGRAM = Program((("x0", "Tensor"),), (Line("add", "v0 = x0 + 1.0"),), "v0")
CALL = Call((FLOAT,))
TRIAL = Trial(
    (PROGRAM,), (Step("model"), Step("lower"), Step("call", 0, call=CALL), Step("fail", 0, "too few", call=CALL))
)

Rows = list[dict[str, Any]]


def test_the_same_is_said_in_the_same_bytes() -> None:
    assert len({answered(play(TRIAL, Shadow(copies=copies))).rows for copies in (False, True)}) == 1


def test_texts_of_exceptions_stand_apart_from_the_rows() -> None:
    answer = play(TRIAL, Shadow(copies=False))
    assert list(answer["failed"]) == [3]
    assert b"TypeError" not in answer["rows"]
    row = read(answered(answer), TRIAL)[3]
    assert (row["raised"]["type"], row["phase"], "failed" in row) == ("TypeError", "run", False)


def _no_end(rows: Rows) -> None:
    rows.pop()


def _no_tensor(rows: Rows) -> None:
    rows[2]["result"] = 3


def _meta_tensor(rows: Rows) -> None:
    rows[2]["result"] = torch.empty(5, 3, device="meta")


def _sparse_tensor(rows: Rows) -> None:
    rows[2]["written"] = {"argument 0": torch.eye(3).to_sparse()}


def _text_for_strides(rows: Rows) -> None:
    rows[2]["strides"] = "many"


def _nothing_of_a_call(rows: Rows) -> None:
    rows[2].clear()


def _a_failure_that_nobody_told(rows: Rows) -> None:
    rows[2]["failed"] = True


def _an_empty_end(rows: Rows) -> None:
    rows[-1].clear()


@pytest.mark.parametrize(
    "change",
    [
        _no_end,
        _no_tensor,
        _meta_tensor,
        _sparse_tensor,
        _text_for_strides,
        _nothing_of_a_call,
        _a_failure_that_nobody_told,
        _an_empty_end,
    ],
)
def test_rows_that_no_device_writes_are_garbled(change: Callable[[Rows], None]) -> None:
    answer = play(TRIAL, Shadow(copies=False))
    rows = unpacked(answer["rows"])
    change(rows)
    with pytest.raises(GarbledValue):
        read(answered({**answer, "rows": packed(rows)}), TRIAL)


@pytest.mark.parametrize("answer", [None, b"", {"rows": b""}, {"rows": "x", "failed": {}}, {"rows": b"", "failed": []}])
def test_what_is_no_answer_is_garbled(answer: Any) -> None:
    with pytest.raises(GarbledValue, match="an answer about a trial that is none"):
        answered(answer)
