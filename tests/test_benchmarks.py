"""The benchmarks measure what they say that they do: the same calls, and reports of real rows."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
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
