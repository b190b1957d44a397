"""Parts of a run on several machines: together they are the run, cell by cell."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.project import Project, Run

from conformance.cli import main
from conformance.pytest_plugin._scope import Shard


@pytest.mark.parametrize("count", [1, 3, 4])
def test_each_cell_is_in_one_shard_and_shards_are_alike_in_size(count: int) -> None:
    shards = [Shard.parse(f"{number}/{count}") for number in range(1, count + 1)]
    parts = [[place for place in range(22) if shard.has(place)] for shard in shards]
    assert sorted(place for part in parts for place in part) == list(range(22))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "1/0", "-1/4", "1/2/3", "a/b"])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="takes K/N, such as 2/4 for the second of four parts, found"):
        Shard.parse(text)


@pytest.mark.parts
def test_shards_are_merged_to_the_report_of_one_run(
    project: Project, shared_run: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    selected = ("--backend=reference", "--conformance-select=composition")
    whole = shared_run(*selected).report("reference")
    for number in (1, 2):
        run = project.run(*selected, f"--conformance-shard={number}/2")
        assert run.exit_code == 0, run.output
        assert f"report: conformance-report/reference/shard-{number}-of-2/report.json" in run.output
    folder = project.folder / "conformance-report/reference"
    paths = [str(folder / f"shard-{number}-of-2/report.json") for number in (1, 2)]
    merged = str(project.folder / "merged.json")
    main(["merge", *paths, "-o", merged])
    capsys.readouterr()
    with open(merged, encoding="utf-8") as file:
        found = json.load(file)
    assert {row["id"]: row["verdict"] for row in found["cells"]} == {
        row["id"]: row["verdict"] for row in whole["cells"]
    }
    assert found["plan"] == whole["plan"]
    assert found["summary"] == whole["summary"]
