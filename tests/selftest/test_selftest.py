"""The self-test as a user runs it: every saboteur is caught, no clause is unproven, the controls pass."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from support.places import REPOSITORY
from support.project import Project, wait_until
from torch_conformance_saboteurs.catalogue import SABOTEURS

from conformance.api.availability import Availability
from conformance.api.errors import HarnessError
from conformance.cli import main
from conformance.contract import Level, SpeaksOf, contract_clauses
from conformance.contract.score import succeeded
from conformance.discovery.describing import KnownSaboteur
from conformance.run.plan import Cell
from conformance.selftest import trials, workers
from conformance.selftest.matrix import result_text
from conformance.selftest.trials import FORMAT, _chunks, conforming_backends
from conformance.toolchains import Source


def one_for_each_clause() -> list[str]:
    """The names of saboteurs that prove every clause between them, as few as come of taking those with most first."""
    unproven = {clause for saboteur in SABOTEURS for clause in saboteur.caught_by}
    names = []
    while unproven:
        best = max(SABOTEURS, key=lambda saboteur: len(unproven.intersection(saboteur.caught_by)))
        unproven.difference_update(best.caught_by)
        names.append(best.name)
    return names


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of saboteurs of every clause, with a seed that the README does not use. All take much longer."""
    return ended_well(tmp_path_factory.mktemp("selftest"), "-n", "3", "--seed", "20", *one_for_each_clause())


def ended_well(folder: Path, *options: str) -> dict[str, Any]:
    """The document of a self-test that ended with 0."""
    command = [sys.executable, "-m", "conformance.cli", "selftest", "-q", *options, "--output", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "out/selftest.md").read_text().startswith("# Self-test")
    result: dict[str, Any] = json.loads((folder / "out/selftest.json").read_text())
    return result


@pytest.mark.parts
def test_every_clause_catches_a_saboteur(document: dict[str, Any]) -> None:
    assert document["format"] == FORMAT
    assert document["score"]["caught"] == document["score"]["saboteurs"] > 100
    caught = {row["clause"] for saboteur in document["saboteurs"] for row in saboteur["clauses"] if row["caught"]}
    assert caught == {clause.id for clause in contract_clauses() if clause.level is not Level.REPORTED} | {
        clause for saboteur in SABOTEURS for clause in saboteur.caught_by
    }


@pytest.mark.slow
def test_every_saboteur_is_caught_and_the_controls_are_without_fault(tmp_path: Path) -> None:
    document = ended_well(tmp_path, "-n", "2")
    assert document["score"]["caught"] == document["score"]["saboteurs"] == len(SABOTEURS)
    assert not document["unproven"]
    assert [control["name"] for control in document["controls"]] == conforming_backends(["torchscript", "dynamo"])
    for control in document["controls"]:
        assert control["cells"] > 250
        assert not control["failing"]


@pytest.mark.parts
def test_no_path_of_the_machine_is_in_the_matrix(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    assert str(Path.home()) + "/" not in text
    assert str(REPOSITORY) not in text


@pytest.mark.parts
def test_an_escape_fails_the_self_test(document: dict[str, Any]) -> None:
    escaped = json.loads(json.dumps(document))
    escaped["saboteurs"][0]["clauses"][0] |= {"caught": False, "verdict": "PASS"}
    escaped["score"]["caught"] -= 1
    assert not succeeded(escaped)
    assert "escaped" in result_text(escaped, 80)
    assert not succeeded({**document, "unproven": ["lowering.outputs"]})
    failing = [{"control": "reference", "cell": "c", "verdict": "FAIL", "message": "m"}]
    assert not succeeded({**document, "controls": [{"name": "reference", "cells": 1, "failing": failing}]})


@pytest.mark.parts
def test_a_self_test_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    mark = f"mark-{os.getpid()}"
    command = [sys.executable, "-m", "conformance.cli", "selftest", "-n", "2"]
    running = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "CONFORMANCE_TEST_MARK": mark}, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline()  # progress: the workers are there
    assert len(_marked(mark)) > 2
    running.kill()
    running.communicate(timeout=60)
    wait_until(lambda: not _marked(mark))


def _marked(mark: str) -> list[int]:
    """The processes that have the mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            if f"CONFORMANCE_TEST_MARK={mark}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def test_bad_input_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "no_such_saboteur"]) == 2
    assert "there is no saboteur named 'no_such_saboteur'" in capsys.readouterr().err
    assert main(["selftest", "-n", "0"]) == 2
    assert "-n takes a number of processes" in capsys.readouterr().err


def test_the_contract_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clauses", "--suite", "composition"]) == 0
    assert "composition.nested" in capsys.readouterr().out
    assert main(["explain", "lowering.outputs"]) == 0
    assert "source: pytorch/pytorch#38893" in capsys.readouterr().out
    assert main(["explain", "lowering.output"]) == 2
    assert "lowering.outputs" in capsys.readouterr().err
    assert main(["clauses", "--suite", "nothing"]) == 2


@pytest.mark.parts
def test_a_saboteur_is_tried_on_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["selftest", "native_leaks_after_failure", "-q", "-n", "1", "--output", "out"]) == 0
    (saboteur,) = json.loads(Path("out/selftest.json").read_text())["saboteurs"]
    assert saboteur["target"] == "native"
    assert [row["caught"] for row in saboteur["clauses"]] == [True]
    assert ", native target |" in Path("out/selftest.md").read_text()


@pytest.mark.quick
def test_a_target_that_is_not_known_is_explained(project: Project) -> None:
    project.install(
        "lost",
        """
        from torch_conformance_saboteurs.catalogue import SABOTEURS as OTHERS
        import dataclasses

        Plugin = (dataclasses.replace(OTHERS[0], target="moon"),)
        """,
        group="conformance_saboteurs",
    )
    command = [sys.executable, "-m", "conformance.cli", "selftest", "--list"]
    done = subprocess.run(command, env=project.environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "is for the target 'moon', where one of local, native was expected" in done.stderr


def test_cells_that_take_long_are_tried_first_and_each_by_itself() -> None:
    clauses = contract_clauses("torchscript")
    cells = [Cell(clause, "mine", case, "full", Availability.FULL, None) for clause in clauses for case in "ab"]
    chunks = _chunks(cells)
    assert sorted(cell.id for chunk in chunks for cell in chunk) == sorted(cell.id for cell in cells)
    takes_long = [any(cell.clause.speaks_of is SpeaksOf.GENERATED for cell in chunk) for chunk in chunks]
    assert takes_long == sorted(takes_long, reverse=True)
    assert {len(chunk) for chunk, is_long in zip(chunks, takes_long, strict=True) if is_long} == {1}
    assert max(map(len, chunks)) == 40


@pytest.mark.parametrize(("error", "why"), [(KeyboardInterrupt(), ["interrupted"]), (ZeroDivisionError(), [])])
def test_what_ends_the_work_early_takes_back_what_nobody_has_begun(
    error: BaseException, why: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "ProcessPoolExecutor", Threads)
    said: list[str] = []
    may_end = threading.Event()
    threading.Timer(0.5, may_end.set).start()
    expected = contextlib.nullcontext() if why else pytest.raises(type(error))
    with expected, workers.worker_pool(1, print, ended=said.append) as pool:
        begun = pool.submit(may_end.wait, 60)
        others = [pool.submit(print) for _ in range(3)]
        wait_until(begun.running)
        raise error
    assert said == why
    assert [each.cancelled() for each in (begun, *others)] == [False, True, True, True]


def test_what_workers_are_at_is_not_waited_for() -> None:
    said: list[str] = []
    with workers.worker_pool(1, print, ended=said.append) as pool:
        pool.submit(time.sleep, 600)
        wait_until(lambda: bool(multiprocessing.active_children()))
        raise KeyboardInterrupt
    assert said == ["interrupted"]
    wait_until(lambda: not multiprocessing.active_children(), 60)


@pytest.mark.parametrize(
    ("error", "why"), [(KeyboardInterrupt(), "interrupted"), (BrokenProcessPool(), "a worker process was killed")]
)
def test_a_self_test_that_is_cut_short_says_so_and_is_no_success(
    error: BaseException,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def tried(task: trials.Task) -> list[Any]:
        if len(done) == 2:
            raise error
        done.append(task.name)
        return [trials.Found(task.name, "lowering.outputs", True, "a cell", "FAIL", "run", "")]

    done: list[str] = []
    _four_saboteurs(monkeypatch, tried)
    monkeypatch.setattr("conformance.contract.score.remember", lambda *arguments: done.append("kept"))
    assert main(["selftest", "--output", str(tmp_path)]) == 10
    said = capsys.readouterr().out
    assert f"{why} after 2 of 4 tasks\nINCOMPLETE: 2 tasks were not tried" in said
    assert "self-test: 2 of 4 caught, 1 clauses proven, seed 0, " in said
    assert json.loads((tmp_path / "selftest.json").read_text())["untried"] == 2
    assert (tmp_path / "selftest.md").read_text().startswith("# Self-test\n\nINCOMPLETE: 2 tasks were not tried")
    assert done == ["a", "b"]


def test_where_the_harness_fails_in_a_task_the_others_are_tried_and_it_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def tried(task: trials.Task) -> list[Any]:
        if task.name == "b":
            raise pickle.loads(pickle.dumps(HarnessError("no zygote started in 120 s")))  # as a process has it
        return [trials.Found(task.name, "lowering.outputs", True, "a cell", "FAIL", "run", "")]

    kept: list[Any] = []
    _four_saboteurs(monkeypatch, tried)
    monkeypatch.setattr("conformance.contract.score.remember", lambda *arguments: kept.append(arguments))
    assert main(["selftest", "--output", str(tmp_path)]) == 10
    said = capsys.readouterr().out
    assert "INCOMPLETE: 1 tasks were not tried" in said
    assert said.count("the harness failed in b: no zygote started in 120 s") == 1
    assert "self-test: 3 of 4 caught" in said
    assert json.loads((tmp_path / "selftest.json").read_text())["errors"] == {"b": "no zygote started in 120 s"}
    assert "\n\nThe harness failed in b: no zygote" in (tmp_path / "selftest.md").read_text()
    assert kept == []


def _four_saboteurs(monkeypatch: pytest.MonkeyPatch, tried: Callable[[trials.Task], list[Any]]) -> None:
    """A self-test of four saboteurs that are tried in threads, by a function of the test's."""

    def made(self: Any, *arguments: Any, **named: Any) -> None:
        self.seed, self.workers, self.toolchain, self.partial = 0, 1, "", False
        self.clauses, self.controls = contract_clauses(), []
        self.saboteurs = [
            KnownSaboteur(Source(name), "does harm", ("lowering.outputs",), ("FAIL",), ("run",), "local")
            for name in ("a", "b", "c", "d")
        ]

    monkeypatch.setattr(workers, "ProcessPoolExecutor", Threads)
    monkeypatch.setattr(trials, "_try", tried)
    monkeypatch.setattr(trials.Selftest, "__init__", made)


class Threads(ThreadPoolExecutor):
    """Threads in place of processes."""

    def __init__(self, workers: int, **keywords: Any) -> None:
        super().__init__(workers)
