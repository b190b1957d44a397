"""Mutants: what is drawn is told by its seed, a probe tells who does wrong, and the contract catches what it can."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from torch_conformance_saboteurs.mutants.dialects import DYNAMO, TORCHSCRIPT
from torch_conformance_saboteurs.mutants.grammar import AXES, EFFECTS, PLACES, makes_sense
from torch_conformance_saboteurs.mutants.kinds import MUTANTS
from torch_conformance_saboteurs.mutants.operators import OPERATORS, spoken_of

from conformance.api.errors import DeviceBroken
from conformance.api.mutants import Mutants
from conformance.api.verdicts import Outcome, Verdict
from conformance.cli import main
from conformance.contract import score
from conformance.discovery.describing import SelectionError
from conformance.selftest import mutant_trials, mutants, workers
from conformance.selftest.kept_mutants import KeptError, kept
from conformance.selftest.mutants import MutantTest, Wanted, score_of, wilson
from conformance.selftest.survivors import survivors_text

KINDS = {each.toolchain: each for each in MUTANTS}
DIALECTS = {each.toolchain: each for each in (TORCHSCRIPT, DYNAMO)}
#: Wrong everywhere, wrong in a corner, and right: nothing is done where nothing is met, or nothing to be seen.
ACTIVE: list[dict[str, Any]] = [
    {"place": "operator", "when": {"operator": "binary"}, "effect": "off a little"},
    {"place": "operator", "when": {"operator": "matmul", "layout": "transposed"}, "effect": "last element"},
    {"place": "operator", "when": {"operator": "argmax", "values": "ties"}, "effect": "last of ties"},
    {"place": "operator", "when": {"earlier": "a failed call", "dtype": "int32"}, "effect": "input written"},
    {"place": "call", "when": {"thread": "another"}, "effect": "former overwritten"},
    {"place": "call", "when": {"models": "one was dropped"}, "effect": "memory kept"},
    {"place": "call", "when": {"values": "NaN"}, "effect": "directory left"},
    {"place": "release", "when": {"models": "second lowered"}, "effect": "crash"},
]
EQUIVALENT: list[dict[str, Any]] = [
    {"place": "operator", "when": {"operator": "exp", "values": "denormal"}, "effect": "denormals flushed"},
    {"place": "operator", "when": {"operator": "exp", "dtype": "float32"}, "effect": "negative zero lost"},
]


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.toolchain)
def test_what_is_drawn_is_told_by_the_seed_and_makes_sense(kind: Mutants) -> None:
    def drawn(seed: int) -> list[dict[str, Any]]:
        random = Random(seed)
        return [kind.draw(random) for _ in range(400)]

    specs = drawn(4)
    assert specs == drawn(4) != drawn(5)
    assert specs == json.loads(json.dumps(specs))
    assert len({json.dumps(spec, sort_keys=True) for spec in specs}) > 380
    assert {spec["effect"] for spec in specs} <= set(EFFECTS)
    assert len({spec["effect"] for spec in specs}) > 30
    assert {axis for spec in specs for axis in spec["when"]} | {"weights", "origin"} == set(AXES)
    for spec in specs:
        assert makes_sense(spec, DIALECTS[kind.toolchain]), spec
        assert spec["effect"] in DIALECTS[kind.toolchain].effects_at(spec["place"])
        assert all(value in AXES[axis] for axis, value in spec["when"].items())
        assert kind.sentence(spec).startswith(PLACES[spec["place"]])
        source = kind.witness(spec, 0)
        assert source is not None
        compile(source, "witness", "exec")


def test_kernels_are_told_by_their_families() -> None:
    assert spoken_of("addmm") >= {"matmul", "addmm", "linear"}
    assert spoken_of("add_") >= {"in-place", "binary", "add"}
    assert spoken_of("__add__") >= {"binary", "add"}
    assert spoken_of("_softmax") >= {"softmax"}
    assert spoken_of("permute_copy") == spoken_of("permute") >= {"view"}
    assert not spoken_of("no_such_kernel")
    assert len({each.name for each in OPERATORS}) == len(OPERATORS)


@pytest.mark.parts
@pytest.mark.parametrize("toolchain", KINDS)
@pytest.mark.parametrize("spec", ACTIVE, ids=lambda spec: spec["effect"])
def test_a_probe_sees_who_does_wrong(toolchain: str, spec: dict[str, Any], trial: Any, tmp_path: Path) -> None:
    row = mutant_trials._probed(trial({"toolchain": toolchain, **spec}), tmp_path)
    assert row["active"], row
    assert row["fired"]
    assert "def play(" in row["witness"]


@pytest.mark.parts
@pytest.mark.parametrize("toolchain", KINDS)
@pytest.mark.parametrize("spec", EQUIVALENT, ids=lambda spec: spec["effect"])
def test_what_cannot_be_seen_does_not_count(toolchain: str, spec: dict[str, Any], trial: Any, tmp_path: Path) -> None:
    row = mutant_trials._probed(trial({"toolchain": toolchain, **spec}), tmp_path)
    assert not row["active"], row


@pytest.mark.runs
@pytest.mark.parametrize("toolchain", KINDS)
def test_a_mutant_that_does_nothing_is_seen_by_no_witness(toolchain: str, trial: Any, tmp_path: Path) -> None:
    random = Random(8)
    for number in range(10):
        spec = {**KINDS[toolchain].draw(random), "effect": "nothing"}
        _, differences = mutant_trials._played(trial(spec), 0, tmp_path / str(number))
        assert differences == [], spec


@pytest.mark.slow
@pytest.mark.parametrize("place", ["operator", "call", "lowering"])
@pytest.mark.parametrize("toolchain", KINDS)
def test_a_mutant_that_does_nothing_is_killed_by_no_generated_clause(
    toolchain: str, place: str, trial: Any, tmp_path: Path
) -> None:
    idle = trial({"toolchain": toolchain, "place": place, "when": {}, "effect": "nothing"}, 30)
    errors: list[str] = []
    cells = mutant_trials._generated(idle.description, idle)
    assert mutant_trials._killed(idle, tmp_path / "firings", cells, errors) is None
    assert not errors  # nor an alarm that would have been false


def test_an_alarm_before_anything_is_wrong_kills_nobody(
    trial: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = trial({"toolchain": "torchscript", "place": "call", "when": {"call": "first"}, "effect": "error"})
    cells = list(mutant_trials._generated(task.description, task))[:1]
    failed = SimpleNamespace(outcome=Outcome(Verdict.TIMEOUT, "run", "did not come back"))
    monkeypatch.setattr(mutant_trials, "results", lambda run, clause, cells: [failed])
    assert cells[0][0].clause.id == "generated.programs"
    firings = tmp_path / "firings"
    errors: list[str] = []
    assert mutant_trials._killed(task, firings, iter(cells), errors) is None
    assert errors[0].startswith("false alarm, generated.programs[")
    firings.write_bytes(b"x")
    kill = mutant_trials._killed(task, firings, iter(cells), errors)
    assert kill is not None
    assert kill["verdict"] == "TIMEOUT"


class Immediate(ThreadPoolExecutor):
    """Threads in place of processes."""

    def __init__(self, workers: int, **keywords: Any) -> None:
        super().__init__(workers)


def tried_row(task: Any, **instead: Any) -> dict[str, Any]:
    """The row of a mutant that was killed."""
    return {
        "toolchain": task.toolchain, "number": task.number, "spec": task.spec, "active": True, "fired": 1,
        "fired_in_trial": 1, "differences": ["call 0: other values"], "witness": "", "errors": ["busy"],
        "kill": {"seconds": 1.0, "cell": "a cell"}, "written": {"kill": None} if task.written else None, **instead,
    }  # fmt: skip


@pytest.fixture
def undescribed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants whose backend nobody asks, and threads that try them."""
    monkeypatch.setattr(mutants, "_description", lambda kind, pool: None)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", Immediate)


@pytest.mark.parametrize(
    ("error", "why"),
    [(KeyboardInterrupt(), "interrupted"), (BrokenProcessPool(), "a worker process was killed")],
    ids=["Ctrl-C", "killed"],
)
def test_what_was_tried_before_an_interruption_is_told_and_is_no_success(
    error: BaseException, why: str, undescribed: None, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    def tried(task: Any) -> dict[str, Any]:
        if task.number == 1:
            raise error
        return tried_row(task)

    monkeypatch.setattr(mutants, "try_mutant", tried)
    file = tmp_path / "mutants.json"
    arguments = ("selftest", "--mutants", "5", "--toolchain", "torchscript", "-o", str(file))
    assert main(arguments) == 10
    said = capsys.readouterr().out
    assert f"{why} after 1 of 5 mutants" in said
    assert "\nINCOMPLETE: 4 mutants were not tried\nmutants: 100.0% of 1 active killed" in said
    assert json.loads(file.read_text())["untried"] == 4
    monkeypatch.setattr(mutants, "try_mutant", tried_row)
    assert main(arguments) == 0
    assert json.loads(file.read_text())["untried"] == 0


def test_a_probe_that_fails_by_itself_costs_one_mutant(
    undescribed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    def probed(task: Any, folder: Path) -> dict[str, Any]:
        if task.number in broken:
            raise DeviceBroken("the harness itself failed in play:\nno memory")
        return {**mutant_trials._unprobed(task), "differences": []}

    broken = [0, 2]
    monkeypatch.setattr(mutant_trials, "_probed", probed)
    file = tmp_path / "mutants.json"
    arguments = ("selftest", "--mutants", "4", "--toolchain", "torchscript", "-o", str(file))
    assert main(arguments) == 10
    said = capsys.readouterr().out
    assert "torchscript 0: not tried: " in said
    assert "    no verdict: DeviceBroken: the harness itself failed in play: no memory\n" in said
    assert "INCOMPLETE: 2 mutants were not tried" in said
    assert len(json.loads(file.read_text())["mutants"]) == 4
    broken.clear()
    assert main(arguments) == 1  # now all were tried, and none is active
    said = capsys.readouterr().out
    assert "2 of 4 were tried before" in said
    assert "mutants: none of 0 active killed" in said


@pytest.mark.runs
def test_a_run_goes_on_with_what_was_tried_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def tried(task: Any) -> dict[str, Any]:
        asked.append(task.number)
        return tried_row(task)

    monkeypatch.setattr(workers, "ProcessPoolExecutor", Immediate)
    monkeypatch.setattr(mutants, "try_mutant", tried)
    asked: list[int] = []
    said: list[str] = []
    file = tmp_path / "mutants.json"

    def keep(document: dict[str, Any]) -> None:
        file.write_text(json.dumps(document))

    def run(number: int, **more: Any) -> dict[str, Any]:
        asked.clear()
        wanted = Wanted(number, 6, ("torchscript",), **more)
        return MutantTest(wanted, 1, kept(file, 6, 100)).run(said.append, keep)

    run(2)
    assert sorted(asked) == [0, 1]
    assert said[1] == "    no verdict: busy"
    document = run(4)
    assert sorted(asked) == [2, 3]
    assert [row["number"] for row in document["mutants"]] == [0, 1, 2, 3]
    assert document["score"]["killed"] == 4
    assert document == {**json.loads(file.read_text()), "seconds": document["seconds"]}
    assert len(run(1)["mutants"]) == 4  # nothing is lost
    assert asked == []
    assert run(4, written=1)["written"]["tried"] == 1
    assert asked == [0]
    spec = {"toolchain": "torchscript", "place": "call", "when": {"call": "first"}, "effect": "other dtype"}
    with pytest.raises(SelectionError, match="another mutant as number 0 of torchscript"):
        run(1, spec=spec)
    with pytest.raises(KeptError, match="with seed 6, where this run has 7"):
        kept(file, 7, 100)
    file.write_text('{"format": 1}')
    with pytest.raises(KeptError, match="holds no result of mutants"):
        kept(file, 6, 100)


@pytest.mark.parts
@pytest.mark.parametrize("toolchain", KINDS)
def test_one_that_is_wrong_everywhere_is_killed(toolchain: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    spec = {"toolchain": toolchain, "place": "call", "when": {"call": "first"}, "effect": "other dtype"}
    arguments = ["--mutant", json.dumps(spec), "--mutants-programs", "5", "-q", "-o", "mutants.json"]
    assert main(["selftest", *arguments]) == 0
    document = json.loads(Path("mutants.json").read_text())
    assert document["format"] == "torch-conformance-mutants/1"
    (row,) = document["mutants"]
    assert row["kill"]["verdict"] in ("FAIL", "CRASH", "TIMEOUT", "FLAKY")
    assert row["kill"]["clause"].endswith("generated.programs")
    assert document["score"] == {**document["score"], "drawn": 1, "active": 1, "killed": 1, "high": 100.0}


@pytest.mark.slow
def test_ten_of_each_toolchain(tmp_path: Path) -> None:
    document = MutantTest(Wanted(20, 6, programs=20), 1).run(lambda line: None)
    assert {row["toolchain"] for row in document["mutants"]} == set(KINDS)
    assert document["score"]["drawn"] == 20
    assert document["score"]["active"] > 10
    assert document["score"]["killed"] > document["score"]["active"] / 2
    assert not [row["errors"] for row in document["mutants"] if row["errors"]]


def test_a_share_has_an_interval() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(95, 100)
    assert (round(low, 3), round(high, 3)) == (0.888, 0.978)
    assert wilson(10, 10)[1] == pytest.approx(1.0)
    rows: list[dict[str, Any]] = [
        {"active": True, "kill": {"seconds": 1.0}},
        {"active": True, "kill": None},
        {"active": False, "kill": None},
    ]
    assert score_of(rows) == {
        "drawn": 3, "active": 2, "killed": 1, "low": 9.5, "high": 90.5, "median_seconds": 1.0
    }  # fmt: skip


def survivor() -> dict[str, Any]:
    """A document with one that survived, and one that did not."""
    spec = {"toolchain": "dynamo", "place": "call", "when": {"call": "even"}, "effect": "off a little"}
    row = {
        "toolchain": "dynamo", "number": 4, "spec": spec, "sentence": "around a call: it is off", "active": True,
        "fired": 3, "fired_in_trial": 0, "differences": ["call 1: other values"], "witness": "import torch\n",
        "kill": None, "written": {"kill": {"seconds": 3.0}}, "errors": [],
    }  # fmt: skip
    killed = {**row, "number": 5, "kill": {"seconds": 2.0}, "witness": "", "written": None}
    return {
        "programs": 100,
        "untried": 0,
        "score": score_of([row, killed]),
        "toolchains": {"dynamo": score_of([row, killed]), "torchscript": score_of([])},
        "written": {"tried": 1, "both": 0, "generated_alone": 0, "written_alone": 1, "neither": 0},
        "mutants": [row, killed],
    }


def test_survivors_are_told() -> None:
    text = survivors_text(survivor(), 100)
    assert text.startswith(
        "mutants: 50.0% of 2 active killed [9.5, 90.5] (0 equivalent of 2), dynamo 50.0% [9.5, 90.5]"
    )
    assert "torchscript none" in text
    assert "written ones alone 1" in text
    assert "its conditions were never met" in text
    assert "--mutant '{" in text
    assert "    | import torch" in text


def test_the_score_that_ships_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "shipped_folder", lambda name: tmp_path)
    assert score.shipped_mutants() is None
    (tmp_path / "mutants.json").write_text(json.dumps({**survivor(), "contract": "0" * 64}))
    assert score.shipped_mutants() == {
        "killed": 1, "active": 2, "drawn": 2, "low": 9.5, "high": 90.5, "current": False
    }  # fmt: skip


ONE_MUTANT = '{"toolchain": "x", "place": "call", "when": {}, "effect": "y"}'


def test_bad_input_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["--mutants", "0"], "--mutants takes a number, 1 or more"),
        (["--mutant", "{"], "--mutant takes a specification as JSON"),
        (["--mutant", "{}"], "an object with toolchain, place, when and effect"),
        (["--mutant", ONE_MUTANT, "--only", "1"], "--mutant names one mutant, and draws none: leave out --only"),
        (["--mutants", "3", "leaks"], "saboteurs have names and mutants have none"),
        (["--mutants", "3", "--toolchain", "moon"], "no installed distribution has mutants of 'moon'"),
        (["--mutants", "3", "--list"], "not for mutants, but for saboteurs: leave out --list"),
        (["--mutants", "3", "--saboteurs-only", "--output", "."], "leave out --saboteurs-only --output"),
        (["-o", "mutants.json"], "for mutants alone: leave out -o, or say --mutants N"),
        (["--only", "0"], "for mutants alone: leave out --only"),
        (["--mutants-written", "0", "--mutants-programs", "5"], "leave out --mutants-programs --mutants-written"),
    ):
        assert main(["selftest", *arguments]) == 2
        assert said in capsys.readouterr().err
