"""The code of docs/extending.md works as it stands there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from conftest import Project

PAGE = Path(__file__).resolve().parent.parent / "docs" / "extending.md"


@pytest.fixture
def followed(project: Project) -> Project:
    """A project in which every file of the page is installed."""
    text = PAGE.read_text(encoding="utf-8")
    for name, code in re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text, re.DOTALL):
        path = project.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
    for number, code in enumerate(re.findall(r"```toml\n# pyproject.toml\n(.*?)```", text, re.DOTALL)):
        metadata = project.site / f"follows{number}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: follows{number}\nVersion: 1.0\n")
        groups = tomllib.loads(code)["project"]["entry-points"]
        lines = [f"[{group}]\n{name} = {value}\n" for group, each in groups.items() for name, value in each.items()]
        (metadata / "entry_points.txt").write_text("".join(lines))
    return project


def test_the_toolchain_of_the_page_certifies_its_backend(followed: Project) -> None:
    run = followed.run("--backend=interpreter", "-q")
    assert run.exit_code == 0, run.output
    report = run.report("interpreter")
    assert report["certification"]["achieved"] == "core"
    assert {row["id"] for row in report["cells"]} == {
        "fx.results[affine-call-yes/yes]",
        "fx.results[layer-call-yes/yes]",
        "fx.repeatable[layer-call-yes/yes]",
    }
    lines = (followed.folder / "conformance-report" / "interpreter" / "slowest.tsv").read_text().splitlines()
    assert len(lines) == 3
    assert all(re.fullmatch(r"\d+\.\d{3}\tfx\.\w+\[.*\]", line) for line in lines)


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_the_clauses_case_and_target_of_the_page(followed: Project, workers: tuple[str, ...]) -> None:
    run = followed.run(
        "--backend=reference", "--conformance-target=cpu=default", "-q", "-k", "test_gelu or test_many", *workers
    )
    assert run.exit_code == 0, run.output
    assert run.verdicts("reference") == {
        "mine.gelu[mine_gelu-full-yes/yes-yes/yes]": ("PASS", ""),
        "mine.many-samples[add-full-yes/yes]": ("PASS", ""),
        "mine.many-samples[mine_gelu-full-yes/yes]": ("PASS", ""),
    }
    assert run.report("reference")["target"]["spec"] == "cpu=default"


def test_two_suites_of_one_name_are_told(followed: Project) -> None:
    suites = followed.site / "mine" / "suites"
    (suites / "test_mine.py").rename(suites / "test_lowering.py")
    run = followed.run("--backend=reference")
    assert run.exit_code == 4, run.output
    assert "two suites are called test_lowering.py" in " ".join(run.output.split())
