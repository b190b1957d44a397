"""The README's first screen: what somebody who comes by has to see, and that it is true."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
from support.places import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
SCREEN = "\n".join(README.splitlines()[:42])


def test_the_first_screen_has_everything() -> None:
    commands = re.findall(r"^\$ (.+)$", SCREEN, re.MULTILINE)
    assert commands[0].startswith("python3 -m venv .venv && ")
    assert commands[0].endswith(".venv/bin/pytest --backend=reference")
    assert commands[1].startswith(".venv/bin/pip install ")
    assert commands[2] == f"{commands[1].rpartition('&& ')[2]} -m 'parts or runs'"
    assert len(commands) == 3 + 5  # and five lines for a backend of one's own
    assert "| found by it" in SCREEN
    assert "](reports/findings.md)" in SCREEN
    assert "Python 3.11" in SCREEN
    assert "torch 2.13" in SCREEN


def test_ci_runs_its_commands_whatever_they_say() -> None:
    script = (REPOSITORY / ".ci/run").read_text(encoding="utf-8")
    (finding,) = re.findall(r"< <\((sed .*)\)$", script, re.MULTILINE)
    found = subprocess.run(["bash", "-c", finding], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert found.splitlines() == re.findall(r"^\$ (.+)$", SCREEN, re.MULTILINE)[:3]


def test_what_is_supported_is_what_pip_takes() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    assert any(each.startswith("torch>=2.13") for each in project["dependencies"])


def test_the_picture_is_small() -> None:
    (picture,) = re.findall(r"\]\((docs/_static/[^)]+\.png)\)", SCREEN)
    assert 0 < (REPOSITORY / picture).stat().st_size < 100_000


@pytest.mark.parametrize("text", [README, (REPOSITORY / "docs/commands.md").read_text(encoding="utf-8")])
def test_links_lead_somewhere(text: str) -> None:
    folder = REPOSITORY if text is README else REPOSITORY / "docs"
    links = {each.partition("#")[0] for each in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in each}
    links = {each for each in links if not each.startswith("generated/")}  # by the site, which complains itself
    assert links
    assert not [each for each in links if each and not (folder / each).exists()]
