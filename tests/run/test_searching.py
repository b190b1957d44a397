"""What a generated cell comes to where its search could try little."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from generate.drawn import scope_of
from generate.test_engine import Scripted

from conformance.api.verdicts import NotExercised
from conformance.generate.budget import Share
from conformance.generate.judge import Divergence
from conformance.generate.laboratory import Refused
from conformance.generate.steps import Trial
from conformance.generate.trials import program_trials
from conformance.run.searching import _search


@pytest.mark.parametrize("taken", [0, 2])
def test_a_cell_that_is_refused_nearly_everything_shows_nothing(taken: int) -> None:
    seen: list[Trial] = []

    def differences(trial: Trial) -> list[Divergence]:
        seen.append(trial)
        if len(seen) > taken:
            raise Refused("aten::clamp")
        return []

    cell = SimpleNamespace(clause=SimpleNamespace(id="compile.generated.programs"), theme="elementwise")
    context: Any = SimpleNamespace(
        cell=cell,
        seed=0,
        laboratory=Scripted(differences),
        kept=None,
        tell=lambda text: None,
        first_finding_only=False,
        record=SimpleNamespace(),
    )
    with pytest.raises(NotExercised, match=f"of 100 programs that were drawn {taken} could be tried, .* aten::clamp"):
        _search(context, program_trials(scope_of("dynamo", "elementwise")), Share(5, 5, None))
    assert context.record.generated["tried"] == taken
