"""The reproducers of what `conformance new` writes, broken on purpose: they run as they are, where the run ran."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.project import Project, Run
from support.scaffolded import change, install_new
from support.scripts import failing_rows, run_script, scripts_of

pytestmark = pytest.mark.runs

#: Toolchain → a source of what is written, with two bugs: one computes what is wrong, one raises.
BUGS = {
    "torchscript": (
        "csrc/delegate.cpp",
        "  line >> name;\n",
        '  line >> name;\n  if (name == "aten::add.Tensor") {\n    name = "aten::sub.Tensor";\n  }\n'
        '  TORCH_CHECK(name != "aten::relu", "no room for relu");\n',
    ),
    "dynamo": (
        "compiler.py",
        "            values[step.node] = step.kernel(*args, **kwargs)\n",
        "            values[step.node] = step.kernel(*args, **kwargs)\n"
        '            if "sum" in str(step.node.target):\n'
        '                raise RuntimeError("no room for a sum")\n'
        '            if "relu" in str(step.node.target):\n'
        "                values[step.node] = values[step.node] + 1\n",
    ),
}
CHOSEN = {
    "torchscript": "test_lowering and test_outputs or test_save_load and test_again and add",
    "dynamo": "test_dynamo_lowering and test_outputs and (chain or reductions)",
}


def broken(toolchain: str, folder: Path) -> Project:
    """A project in which the backend is installed from sources with bugs."""
    project = install_new(Project(folder), toolchain)
    change(project, *BUGS[toolchain])
    return project


def broken_run(toolchain: str, folder: Path) -> Run:
    """A run of some cells of it, with a script for up to two of each clause, verdict and phase."""
    return broken(toolchain, folder).run("--backend=mine", "--conformance-reproducers=2", "-k", CHOSEN[toolchain])


@pytest.mark.parametrize("toolchain", BUGS)
def test_every_script_shows_its_failure_as_it_was_written(toolchain: str, tmp_path: Path) -> None:
    run = broken_run(toolchain, tmp_path)
    scripts = scripts_of(run, "mine")
    assert {row["clause"] for row in failing_rows(run, "mine")} == {cell.partition("[")[0] for cell in scripts}
    assert len(scripts) >= 2, run.output
    with ThreadPoolExecutor(2) as pool:
        ended = pool.map(lambda each: run_script(each, site=tmp_path / "site"), scripts.values())
        told = dict(zip(scripts, ended, strict=True))
    assert {cell: each.exit_code for cell, each in told.items()} == dict.fromkeys(scripts, 1), told
    said = " ".join(each.output for each in told.values())
    assert "Mismatched elements" in said or "elements differ" in said
    assert "no room for" in said
