"""What a compiler may leave out of a program, with the errors that it would raise."""

from __future__ import annotations

import pytest

from conformance.generate.dead_code import needed
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.steps import Call, Step, Trial


@pytest.mark.parametrize(
    ("lines", "result", "kept"),
    [
        (("v0 = x0 + 1", "v1 = x0 * 2"), "v0", ("v0 = x0 + 1",)),
        (("v0 = x0 + 1", "v0.add_(2)"), "x0", ()),
        (("v0 = x0.sum()", "v1 = x0 + v0", "v1.add_(2)", "v2 = v1.clone()", "v2[v0] = 1"), "x0", ()),
        (("v0 = x0 + 1", "v1 = v0[1:]", "v1.add_(2)"), "v0", None),
        (("v0 = x0 + 1", "v1 = v0[1:]", "v0.add_(2)"), "v1", None),
        (("v0 = x0[1:]", "v0.add_(2)"), "x0", None),
        (("x0.add_(2)",), "x0", None),
        (("v0 = x0 + 1", "x0.add_(v0)"), "x0", None),
        (("self.b0.add_(2)",), "x0", None),
    ],
)
def test_what_nothing_reads_is_left_out(lines: tuple[str, ...], result: str, kept: tuple[str, ...] | None) -> None:
    found = needed([Line("any", each) for each in lines], result)
    assert tuple(line.text for line in found) == (lines if kept is None else kept)


def test_a_submodule_is_left_out_where_it_writes_nothing() -> None:
    lines = [Line("batch_norm", "v0 = self.m0(x0)"), Line("add", "v1 = x0 + 1")]
    assert needed(lines, "v1") == tuple(lines)
    assert needed(lines, "v1", modules_write=False) == (lines[1],)
    program = Program((("x0", "Tensor"),), tuple(lines), "v1", modules=(("m0", "torch.nn.BatchNorm1d(3)"),))
    for train in (True, False):
        call = Call((TensorSpec("float32", (2, 3)),), train=train)
        trial = Trial((program,), (Step("model"), Step("lower"), Step("call", call=call)))
        assert len(trial.without_dead_code().programs[0].lines) == (2 if train else 1)
