"""The benchmarks measure what they say that they do: the same calls, and reports of real rows."""

from __future__ import annotations

import collections
import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest
import torch
from support.places import REPOSITORY


def said_by(script: str, *arguments: str) -> str:
    """What a benchmark prints."""
    command = [sys.executable, str(REPOSITORY / "benchmarks" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.runs
@pytest.mark.parametrize(("backend", "clause"), [("reference", "test_types"), ("aot_eager", "test_strides")])
def test_the_bare_calls_come_to_what_the_cells_came_to(backend: str, clause: str) -> None:
    said = said_by("contract.py", backend, "--select", clause)
    assert "came to another end than in its cell: 0" in said, said
    assert said.count("| 1 worker ") == said.count("| 2 workers ") == said.count("| the bare calls ") == 1


@pytest.mark.runs
def test_a_report_of_many_cells_is_one() -> None:
    took = json.loads(said_by("growth.py", "--one-report", "1500"))
    assert {"built", "written", "read", "page", "compared", "MiB"} <= set(took)
    assert all(each > 0 for each in took.values())


@pytest.fixture(scope="module")
def generators() -> Any:
    """The benchmark that tries the programs of another generator."""
    spec = importlib.util.spec_from_file_location("generators", REPOSITORY / "benchmarks/generators.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (None, -1),
        ({"place": "call", "when": {}, "effect": "last element"}, 0),
        ({"place": "operator", "when": {"operator": "relu"}, "effect": "zeros returned"}, 1),
        ({"place": "operator", "when": {"operator": "relu"}, "effect": "crash"}, 1),
        ({"place": "operator", "when": {"operator": "relu"}, "effect": "error"}, 1),
        ({"place": "backward", "when": {}, "effect": "gradient doubled"}, 0),
        ({"place": "operator", "when": {"operator": "softmax"}, "effect": "zeros returned"}, -1),
    ],
)
def test_programs_of_another_generator_show_what_a_mutant_does(generators: Any, spec: Any, place: int) -> None:
    torch.manual_seed(0)
    given = {"x": torch.randn(2, 3)}
    programs = [(torch.nn.Linear(3, 2), given), (torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), given)]
    assert generators.killed_by(spec, programs) == place


def test_who_killed_what_is_counted(generators: Any) -> None:
    both, ours, theirs, nobody = (True, True), (True, False), (False, True), (False, False)
    seen = {"call": collections.Counter((both, ours, ours)), "backward": collections.Counter((theirs, nobody))}
    rows = [line.split() for line in generators.table(seen).splitlines()]
    assert rows[2:5] == [
        ["backward", "2", "0", "1", "0", "1"],
        ["call", "3", "3", "1", "2", "0"],
        ["all", "5", "3", "2", "2", "1"],
    ]
