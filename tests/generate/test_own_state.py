"""Programs with state that only they see: their trials show it, and ask for nothing that nobody says."""

from __future__ import annotations

import collections
import functools

import torch
from generate.drawn import drawn, scope_of

from conformance.generate.makers import Shadow
from conformance.generate.program import TensorSpec
from conformance.generate.steps import Trial


@functools.cache
def trials_with_state(number: int = 150) -> list[Trial]:
    trials = drawn(scope_of("executorch", "reductions"), number, 11)
    return [trial for trial in trials if any("writes" in program.marks for program in trial.programs)]


def test_some_programs_write_to_buffers_that_begin_with_zeros_and_read_them() -> None:
    trials = trials_with_state()
    assert len(trials) > 10
    written = [program for trial in trials for program in trial.programs if "writes" in program.marks]
    for program in written:
        kept = [name for name, spec in program.buffers if spec.values == "zeros"]
        assert kept
        assert all(program.source().count(f"self.{name}") > 1 for name in kept), "one is written, and never read"


def test_their_calls_are_of_one_kind_and_none_fails() -> None:
    trials = trials_with_state(400)
    seen = collections.Counter(step.action for trial in trials for step in trial.steps)
    assert {"save_load", "copy", "refill"} <= seen.keys()
    assert not {"fail", "weights"} & seen.keys()
    for trial in trials:
        kinds = collections.defaultdict(set)
        for step in trial.steps:
            if step.call is not None:
                specs = [each for each in step.call.arguments if isinstance(each, TensorSpec)]
                kinds[step.model].add((step.call.mode, *((each.dtype, each.shape, each.layout) for each in specs)))
        assert all(len(each) == 1 for each in kinds.values())


def test_where_callers_see_writes_all_is_drawn_as_for_other_programs() -> None:
    trials = [each for each in drawn(scope_of("dynamo", "writes"), 100, 11) if "writes" in each.programs[0].marks]
    assert {"fail", "weights"} <= {step.action for trial in trials for step in trial.steps}


class Counting(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x
        return self.total * 1.0


def test_a_copy_of_the_shadow_begins_anew() -> None:
    shadow = Shadow(copies=True)
    lowered = shadow.lower(Counting(), dynamic=None)
    assert [float(lowered(torch.ones(1))) for _ in range(2)] == [1.0, 2.0]
    for copied in (shadow.copy(lowered), shadow.save_and_load(lowered), shadow.copy(shadow.copy(lowered))):
        assert float(copied(torch.ones(1))) == 1.0
    assert float(lowered(torch.ones(1))) == 3.0
