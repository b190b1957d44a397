"""A plugin that ``conformance new`` writes, in a project: installed from its sources, changed there, and run."""

from __future__ import annotations

from typing import Any

from conformance.scaffold.distribution import NewPlugin, write
from support.project import Project

#: Toolchain → group of entry points → what of the new package the backend `mine` is there.
_ENTRY_POINTS = {
    "torchscript": {"conformance_backends": "backend:MineBackend"},
    "dynamo": {"torch_dynamo_backends": "compiler:compiler", "conformance_backends": "backend:MineBackend"},
    "executorch": {"conformance_backends": "backend:MineBackend"},
}


def install_new(project: Project, toolchain: str) -> Project:
    """Install a new plugin from its sources, and by nothing but its metadata."""
    write(NewPlugin("mine", toolchain), project.folder / "new")
    (project.folder / "new/src/mine_conformance").rename(project.site / "mine_conformance")
    for group, place in _ENTRY_POINTS[toolchain].items():
        metadata = project.site / f"{group}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {group}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[{group}]\nmine = mine_conformance.{place}\n")
    return project


def change(project: Project, file: str, before: str, after: str) -> None:
    """Change a source of the plugin in one place."""
    path = project.site / "mine_conformance" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{file} has {text.count(before)} times {before!r}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def rows_of(project: Project, selection: str) -> dict[str, dict[str, Any]]:
    """Run a part of the contract: the rows of its cells by clause."""
    run = project.run("--backend=mine", "-k", selection)
    assert (project.folder / "conformance-report").is_dir(), run.output
    return {row["clause"]: row for row in run.report("mine")["cells"]}
