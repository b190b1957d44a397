"""The search: what it counts, makes smaller, tells apart, and finds again."""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generate.drawn import scope_of
from hypothesis import strategies as st

from conformance.generate.budget import Share
from conformance.generate.engine import Search
from conformance.generate.judge import Divergence
from conformance.generate.laboratory import Discarded, Refused
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.steps import Call, Step, Trial
from conformance.generate.tally import Tally
from conformance.generate.trials import program_trials

Verdict = Callable[[Trial], list[Divergence]]
CALL = Call((TensorSpec("float32", (2,)),))


def trial_of(operators: list[str]) -> Trial:
    """A trial of a chain of operators, whose model is called once."""
    lines = tuple(Line(name, f"v{place + 1} = torch.{name}(v{place})") for place, name in enumerate(operators))
    program = Program((("v0", "Tensor"),), lines, f"v{len(lines)}")
    return Trial((program,), (Step("model"), Step("lower"), Step("call", call=CALL)))


#: Trials that cost nothing to draw, where what is drawn does not matter.
CHAINS = st.lists(st.sampled_from(("abs", "clamp", "exp", "neg", "where")), min_size=1, max_size=5).map(trial_of)
#: Those of a cell.
PROGRAMS = program_trials(scope_of("dynamo", "elementwise"))


class Scripted:
    """In place of a laboratory: a function says what differs."""

    def __init__(self, differences: Verdict) -> None:
        self._differences = differences
        self.played: list[Trial] = []
        self.asked = 0

    def differences(self, trial: Trial, *, leaks: bool = False) -> list[Divergence]:
        self.played.append(trial)
        self.asked += 1
        return self._differences(trial)

    def fresh(self) -> None:
        self.played = []


def searched(
    differences: Verdict,
    programs: int = 120,
    seed: int = 1,
    strategy: st.SearchStrategy[Trial] = CHAINS,
    **options: Any,
) -> Tally:
    """The tally of a search."""
    tally = Tally(seed)
    laboratory: Any = Scripted(differences)
    Search(laboratory, strategy, Share(programs, programs, None), tally, **options).run()
    return tally


def operators(trial: Trial) -> set[str]:
    return {name for program in trial.programs for name in program.operators}


def test_what_is_right_is_counted() -> None:
    tally = searched(lambda trial: [])
    assert tally.tried == 120
    assert tally.findings == []
    row = tally.as_row()
    assert len(row["pairs"]) == len(row["values"]) == len(row["counts"])
    assert max(row["counts"]) == 120


def test_a_failure_is_made_as_small_as_it_goes() -> None:
    tally = searched(lambda trial: [Divergence(2, "values", "wrong")] if "clamp" in operators(trial) else [])
    (finding,) = tally.findings
    assert finding.operators == ["clamp"]
    assert len(finding.trial.programs[0].lines) == 1
    assert finding.count > 1
    assert finding.verdict == "FAIL"


def test_two_causes_are_two_findings() -> None:
    def differences(trial: Trial) -> list[Divergence]:
        if "clamp" in operators(trial):
            return [Divergence(2, "values", "wrong")]
        return [Divergence(2, "strides", "other")] if "where" in operators(trial) else []

    assert {each.observable: each.operators for each in searched(differences, 300).findings} == {
        "values": ["clamp"],
        "strides": ["where"],
    }


def test_what_is_wrong_everywhere_hides_nothing_else() -> None:
    def differences(trial: Trial) -> list[Divergence]:
        everywhere = [Divergence(2, "strides", "other")]
        return [*everywhere, Divergence(3, "values", "wrong")] if "clamp" in operators(trial) else everywhere

    found = {each.observable: each.operators for each in searched(differences, 300).findings}
    assert found["values"] == ["clamp"]
    assert "strides" in found


def test_a_fault_of_one_layout_explains_none_of_another() -> None:
    def differences(trial: Trial) -> list[Divergence]:
        expanded = trial.calls[0].tensors[0].layout == "expanded"
        wrong = "clamp" in operators(trial) if expanded else {"clamp", "exp"} <= operators(trial)
        return [Divergence(2, "values", "wrong")] if wrong else []

    layouts = st.sampled_from(("expanded", "contiguous"))
    trials = st.tuples(CHAINS, layouts).map(lambda drawn: _laid_out(*drawn))
    found = searched(differences, 400, strategy=trials).findings
    assert {" ".join([*each.operators, *each.axes]) for each in found} >= {"clamp layout=expanded", "clamp exp"}


def _laid_out(trial: Trial, layout: str) -> Trial:
    call = Call((TensorSpec("float32", (2, 3), layout),))
    return Trial(trial.programs, (*trial.steps[:2], Step("call", call=call)))


def test_each_change_of_the_process_is_one_finding_whatever_it_is_told_as() -> None:
    counter = itertools.count()

    def differences(trial: Trial) -> list[Divergence]:
        name = "the working directory" if "clamp" in operators(trial) else "the hash of something"
        return [Divergence(2, "process state", f"{name} is {next(counter)}", about=name)]

    assert len(searched(differences).findings) == 2


def test_a_change_of_the_process_that_comes_with_a_wrong_value_is_found_too() -> None:
    def differences(trial: Trial) -> list[Divergence]:
        both = [Divergence(2, "values", "wrong"), Divergence(4, "process state", "changed", about="a variable")]
        return both if "clamp" in operators(trial) else []

    assert {each.observable for each in searched(differences).findings} == {"values", "process state"}


def test_another_failure_in_a_fresh_process_confirms_nothing() -> None:
    """One that comes with the sixth trial of a process, in which the first changes the process."""
    laboratory: Any = Scripted(lambda trial: [])

    def differences(trial: Trial) -> list[Divergence]:
        if len(laboratory.played) == 1:
            return [Divergence(2, "process state", "changed", about="a variable")]
        late = len(laboratory.played) >= 6 and "clamp" in operators(trial)
        return [Divergence(2, "values", "wrong")] if late else []

    laboratory._differences = differences
    tally = Tally(1)
    Search(laboratory, CHAINS, Share(120, 120, None), tally).run()
    assert {each.observable: len(each.before) >= 5 for each in tally.findings} == {
        "process state": False,
        "values": True,
    }


def test_a_backend_that_refuses_everything_is_given_up() -> None:
    def differences(trial: Trial) -> list[Divergence]:
        raise Refused("aten::clamp")

    tally = searched(differences, 5, strategy=PROGRAMS)
    assert (tally.tried, tally.findings) == (0, [])
    assert tally.refused.total() == 100


def test_drawing_smaller_ones_takes_of_the_patience_too() -> None:
    slow = CHAINS.map(lambda trial: time.sleep(0.01) or trial)  # type: ignore[func-returns-value]
    laboratory: Any = Scripted(lambda trial: [Divergence(2, "values", "wrong")] if "clamp" in operators(trial) else [])
    laboratory.patience = 60.0
    tally = Tally(1)
    Search(laboratory, slow, Share(20, 20, 60.0), tally).run()
    smaller = laboratory.asked - tally.tried - 1  # its finding is confirmed once
    assert smaller > 5
    assert 60.0 - laboratory.patience > 0.01 * smaller * 0.9


def test_what_does_not_repeat_is_flaky() -> None:
    seen: list[Trial] = []

    def differences(trial: Trial) -> list[Divergence]:
        if "clamp" in operators(trial) and len(seen) < 3:
            seen.append(trial)
            return [Divergence(2, "values", "wrong")]
        return []

    assert [each.verdict for each in searched(differences).findings] == ["FLAKY"]


def test_what_is_refused_or_discarded_is_not_tried() -> None:
    def differences(trial: Trial) -> list[Divergence]:
        if "clamp" in operators(trial):
            raise Refused("aten::clamp")
        if "where" in operators(trial):
            raise Discarded("invalid")
        return []

    tally = searched(differences)
    assert tally.tried == 120
    assert tally.refused["aten::clamp"] > 0
    assert tally.discarded["invalid"] > 0


def test_a_seed_gives_the_same_trials() -> None:
    first: list[Trial] = []
    second: list[Trial] = []
    searched(lambda trial: first.append(trial) or [], strategy=PROGRAMS)  # type: ignore[func-returns-value]
    searched(lambda trial: second.append(trial) or [], strategy=PROGRAMS)  # type: ignore[func-returns-value]
    assert first == second


def test_what_was_found_is_tried_first(tmp_path: Path) -> None:
    kept = tmp_path / "backend" / "cell.json"

    def differences(trial: Trial) -> list[Divergence]:
        return [Divergence(2, "values", "wrong")] if "clamp" in operators(trial) else []

    causes = {each.cause for each in searched(differences, kept=kept).findings}
    again = searched(differences, 1, seed=99, kept=kept)
    assert causes
    assert causes <= {each.cause for each in again.findings}
    assert searched(lambda trial: [], 1, kept=kept).findings == []
    assert not kept.exists()


def test_a_seed_does_not_depend_on_the_modules_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis takes numbers from these, and draws them."""
    first: list[Trial] = []
    second: list[Trial] = []
    searched(lambda trial: first.append(trial) or [], strategy=PROGRAMS)  # type: ignore[func-returns-value]
    (tmp_path / "numbers_of_a_project.py").write_text(f"NUMBERS = {list(range(1000, 1400))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("hypothesis.internal.conjecture.providers.is_local_module_file", lambda path: True)
    importlib.import_module("numbers_of_a_project")
    searched(lambda trial: second.append(trial) or [], strategy=PROGRAMS)  # type: ignore[func-returns-value]
    assert first == second
