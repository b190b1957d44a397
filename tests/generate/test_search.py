"""The search, on a laboratory without processes: what is kept, shown, interrupted; how long a hang is awaited."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from conformance.api.errors import DeviceTimeout
from conformance.generate.budget import Share
from conformance.generate.engine import Search
from conformance.generate.judge import Divergence, Rules
from conformance.generate.kept import Kept
from conformance.generate.laboratory import Ended, Laboratory
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.programs import Scope
from conformance.generate.steps import Call, Step, Trial
from conformance.generate.tally import Tally
from conformance.generate.trials import program_trials
from conformance.toolchains import toolchain_named

_CALL = Call((TensorSpec("float32", (2,)),))


def trial_of(names: list[str]) -> Trial:
    """A trial of a program with these operators."""
    program = Program((("x", "Tensor"),), tuple(Line(name, f"x = x.{name}()") for name in names), "x")
    return Trial((program,), (Step("model"), Step("lower"), Step("call", call=_CALL)))


TRIALS = st.lists(st.sampled_from(["abs", "ceil", "exp", "sign", "sqrt", "tanh"]), min_size=1, max_size=8).map(trial_of)


class FakeLaboratory:
    """Says of each trial what a function says."""

    def __init__(self, judge: Callable[[Trial], str]) -> None:
        self._judge = judge
        self.haste = 1.0
        self.patience = 60.0
        self.played: list[Trial] = []
        self.all: list[tuple[Trial, float]] = []

    def fresh(self) -> None:
        self.played = []

    close = fresh

    def differences(self, trial: Trial, *, leaks: bool = False) -> list[Divergence]:
        self.played.append(trial)
        self.all.append((trial, self.haste))
        observable = self._judge(trial)
        if observable == "hang":
            raise Ended(DeviceTimeout("run", seconds=2.0))
        return [Divergence(2, observable, "otherwise")] if observable else []


def says(operator: str, observable: str) -> Callable[[Trial], str]:
    """A function that finds something in programs with an operator."""
    return lambda trial: observable if operator in trial.programs[0].operators else ""


def searched(judge: Callable[[Trial], str], share: Share, **options: Any) -> tuple[Search, Tally, FakeLaboratory]:
    """A search that was run."""
    laboratory, tally = FakeLaboratory(judge), Tally(7)
    search = Search(laboratory, TRIALS, share, tally, **options)  # type: ignore[arg-type]
    search.run()
    return search, tally, laboratory


HUNDRED = Share(100, 100, None)


def test_trials_are_drawn_independently_of_each_other() -> None:
    """Else most are one before them with a part in another place, and a run meets a fifth of what it could."""
    traits = toolchain_named("torchscript").programs
    assert traits is not None
    seen = []
    for _ in range(2):
        laboratory = FakeLaboratory(lambda trial: "")
        Search(laboratory, program_trials(Scope("elementwise", traits)), HUNDRED, Tally(7)).run()  # type: ignore[arg-type]
        seen.append([trial for trial, _ in laboratory.all])
    assert seen[0] == seen[1]
    first_seeds = {trial.calls[0].tensors[0].seed for trial in seen[0]}
    assert len(first_seeds) > 90


def test_a_strategy_that_is_wrong_is_not_taken_for_a_search_that_found_nothing() -> None:
    strategy = st.floats().map(lambda number: trial_of(["abs"]))
    with pytest.raises(AssertionError, match="whole numbers and booleans"):
        Search(FakeLaboratory(lambda trial: ""), strategy, HUNDRED, Tally(7)).run()  # type: ignore[arg-type]


@pytest.mark.parametrize(("share", "waits"), [(Share(25, None, 1.0), False), (HUNDRED, True)])
def test_only_a_number_of_programs_waits_for_a_backend_that_fails_everywhere(
    monkeypatch: pytest.MonkeyPatch, share: Share, waits: bool
) -> None:
    """With a time, all cells together make their findings smaller for no more than a minute, and a little in each."""

    clock = 0.0

    def judge(trial: Trial) -> str:
        nonlocal clock
        clock += 0.5
        return "values" if len(trial.programs[0].operators) > 1 else ""

    monkeypatch.setattr(time, "monotonic", lambda: clock)
    laboratory, tried = FakeLaboratory(judge), []
    for seed in range(6):
        before = len(laboratory.all)
        tally = Tally(seed)
        Search(laboratory, TRIALS, share, tally).run()  # type: ignore[arg-type]
        tried.append(len(laboratory.all) - before)
        assert tally.findings
    assert (laboratory.patience == 60) is waits
    assert (sum(tried[3:]) > sum(tried[:3]) * 3 / 4) is waits


def outcome(tally: Tally) -> Any:
    """What a seed comes to, without the time that it took."""
    return {name: value for name, value in tally.as_row().items() if name != "seconds"}


def test_what_was_found_is_tried_first_next_time(tmp_path: Path) -> None:
    kept = tmp_path / "folder" / "cell.json"
    _, tally, _ = searched(says("ceil", "values"), HUNDRED, kept=kept)
    assert [each.cause for each in tally.findings] == ["ceil / values"]
    told: list[str] = []
    _, again, laboratory = searched(says("ceil", "values"), HUNDRED, kept=kept, told=told.append)
    assert laboratory.all[0][0] == trial_of(["ceil"])
    assert told[0] == "values, as before: otherwise"
    assert told[1] == "values: otherwise; being made smaller"
    assert outcome(again) == outcome(tally)


def test_a_search_that_ends_at_the_first_failure_makes_nothing_smaller() -> None:
    _, tally, laboratory = searched(says("ceil", "values"), HUNDRED, first_only=True)
    (finding,) = tally.findings
    failing = [trial for trial, _ in laboratory.all if "ceil" in trial.programs[0].operators]
    assert failing == [finding.trial] * 2, "once to find it, and once to confirm it"
    _, tally, _ = searched(says("ceil", "values"), HUNDRED)
    assert tally.findings[0].trial == trial_of(["ceil"])


def test_what_is_remembered_explains_nothing_away(tmp_path: Path) -> None:
    """A seed finds what it would have found, beside what an earlier run left."""
    kept = tmp_path / "cell.json"
    both = trial_of(["ceil", "sign"])
    Kept(kept).write([(both, [])], None)
    judge = says("ceil", "values")
    _, alone, _ = searched(judge, HUNDRED)
    _, tally, _ = searched(judge, HUNDRED, kept=kept)
    assert outcome(tally)["findings"][:1] == outcome(alone)["findings"]
    assert [each.cause for each in tally.findings] == ["ceil / values", "ceil sign / values"]
    assert (tally.tried, outcome(tally)["counts"]) == (alone.tried, outcome(alone)["counts"])


def test_what_is_mended_is_forgotten(tmp_path: Path) -> None:
    kept = tmp_path / "cell.json"
    searched(says("ceil", "values"), HUNDRED, kept=kept)
    assert kept.is_file()
    _, tally, _ = searched(lambda trial: "", HUNDRED, kept=kept)
    assert not tally.findings
    assert not kept.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"trials": [{"trial": 7}]}', '{"trials": [], "unfinished": "x"}'])
def test_a_file_of_another_release_is_no_obstacle(tmp_path: Path, text: str) -> None:
    (tmp_path / "cell.json").write_text(text)
    assert list(Kept(tmp_path / "cell.json").trials()) == []


def interrupting(judge: Callable[[Trial], str], after: int) -> Callable[[Trial], str]:
    """A function that is interrupted once, by Ctrl-C."""
    count = 0

    def judged(trial: Trial) -> str:
        nonlocal count
        count += 1
        if count == after:
            raise KeyboardInterrupt
        return judge(trial)

    return judged


def test_an_interrupted_search_says_what_it_found(tmp_path: Path) -> None:
    kept = tmp_path / "cell.json"
    hunt = Share(100, None, 3600.0)
    search, tally, _ = searched(interrupting(says("ceil", "values"), 700), hunt, kept=kept)
    assert search.interrupted
    assert tally.tried
    assert [each.verdict for each in tally.findings] == ["FAIL"]
    document = json.loads(kept.read_text())
    assert document["unfinished"][0] == 7
    rounds = document["unfinished"][1]
    assert rounds > 0
    assert Kept(kept).rounds_done(7) == rounds
    assert Kept(kept).rounds_done(8) == 0


def test_a_number_of_programs_begins_where_it_always_begins(tmp_path: Path) -> None:
    kept = tmp_path / "cell.json"
    Kept(kept).write([], (7, 5))
    _, tally, _ = searched(says("ceil", "values"), HUNDRED, kept=kept)
    _, alone, _ = searched(says("ceil", "values"), HUNDRED)
    assert outcome(tally) == outcome(alone)


def test_a_hang_is_made_smaller_in_less_than_its_time() -> None:
    _, tally, laboratory = searched(says("sign", "hang"), HUNDRED)
    (finding,) = tally.findings
    assert (finding.verdict, finding.operators) == ("TIMEOUT", ["sign"])
    assert laboratory.all[0][1] == 1.0
    hurried = [haste for trial, haste in laboratory.all if "sign" in trial.programs[0].operators]
    assert hurried[0] == 1.0
    assert set(hurried[1:-1]) == {1 / 30}
    assert hurried[-1] == 1 / 10


def test_a_trial_has_as_much_time_as_others_took_however_much_haste() -> None:
    unused: Any = None
    laboratory = Laboratory(unused, unused, unused, (), rules=Rules(), seconds=lambda: 60.0, timed_out=unused)
    assert laboratory._allowed() == 60.0
    laboratory.haste = 1 / 30
    assert laboratory._allowed() == 2.0
    laboratory._slowest = 4.0
    assert laboratory._allowed() == 20.0
    laboratory._slowest = 40.0
    assert laboratory._allowed() == 60.0


def test_what_ends_a_process_has_no_calls_behind() -> None:
    """Which would not get smaller by fewer bytes alone."""
    called = dataclasses.replace(trial_of(["sign"]), steps=(*trial_of(["sign"]).steps, Step("call", call=_CALL)))
    tally = Tally(7)
    laboratory = FakeLaboratory(says("sign", "hang"))
    Search(laboratory, st.just(called), HUNDRED, tally).run()  # type: ignore[arg-type]
    assert [each.trial for each in tally.findings] == [trial_of(["sign"])]


def test_a_hang_that_was_only_slow_is_none() -> None:
    """What a hurried trial did not come to the end of is no finding, if it does with more time."""
    seen = 0

    def judge(trial: Trial) -> str:
        nonlocal seen
        if "sign" in trial.programs[0].operators:
            return "hang"
        if "ceil" in trial.programs[0].operators and laboratory_haste() < 1 / 10:
            seen += 1
            return "hang"
        return ""

    laboratory = FakeLaboratory(judge)

    def laboratory_haste() -> float:
        return laboratory.haste

    tally = Tally(7)
    Search(laboratory, TRIALS, Share(300, 300, None), tally).run()  # type: ignore[arg-type]
    assert seen
    assert {each.verdict for each in tally.findings} == {"TIMEOUT"}
    assert {tuple(each.operators) for each in tally.findings} == {("sign",)}


def test_the_findings_of_a_tally_are_told_with_what_is_before_them() -> None:
    (finding,) = searched(says("ceil", "values"), HUNDRED)[1].findings
    assert "after" not in finding.as_row()
    assert dataclasses.replace(finding, before=(finding.trial,)).as_row()["after"] == 1
