"""Somebody who follows a tutorial."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
import sys

from support.project import Project, Run

#: How many programs each generated cell tries where a tutorial says nothing of it: what a level takes.
_PROGRAMS = 25


@dataclasses.dataclass
class Step:
    """A command of the tutorial: what it should say, what it said, and how it ended."""

    command: str
    expected: list[str]
    run: Run


class Reader:
    """Somebody who follows the tutorial, in a folder and a site of their own."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.steps: list[Step] = []

    def follow(self, text: str) -> None:
        """Run every command of the text's console blocks, in order."""
        for block in re.findall(r"^```(?:console|diff)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            if not block.startswith("$"):
                self.edit(block)
                continue
            for command, *expected in (part.splitlines() for part in block.removeprefix("$ ").split("\n$ ")):
                if command != "pip install '.[xdist]'":  # done: the harness is there
                    self.steps.append(Step(command, expected, self.execute(command)))

    def execute(self, command: str) -> Run:
        """Run a command as the tutorial says it, but install into the site, from what is there."""
        name, *arguments = shlex.split(command)
        modules = {"conformance": "conformance.cli", "pytest": "pytest", "pip": "pip"}
        if name == "pip":
            assert arguments[:2] == ["install", "-e"]
            options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(self.project.site)]
            arguments = ["install", *options, f"./{arguments[2]}"]
        done = subprocess.run(
            [sys.executable, "-m", modules[name], *arguments] if name in modules else [name, *arguments],
            cwd=self.project.folder,
            env=self.project.environment | {"PYTEST_ADDOPTS": f"--conformance-generated={_PROGRAMS}"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=900,
            check=False,
        )
        return Run(done.returncode, done.stdout, self.project.folder)

    def edit(self, difference: str) -> None:
        """Change a module of the backend as the tutorial says; in the site, where the copy lies that is used."""
        modules = (self.project.site / "mybackend_conformance").glob("*.py")
        lines = difference.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if not line.startswith("+"))
        after = "".join(line[1:] for line in lines if not line.startswith("-"))
        (module,) = (each for each in modules if before in each.read_text())
        module.write_text(module.read_text().replace(before, after))

    def check(self) -> None:
        """Every command has said what the tutorial says, and failed where it says so."""
        for step in self.steps:
            told_to_fail = any(line.endswith("failed") for line in step.expected)
            assert step.run.exit_code == (1 if told_to_fail else 0), f"{step.command}\n{step.run.output}"
            missing = [line for line in step.expected if not is_said(line, step.run.output)]
            assert not missing, f"{step.command}: not said: {missing}\n{step.run.output}"


def is_said(line: str, output: str) -> bool:
    """Whether a line of a tutorial is part of one line of an output; ``...`` in it stands for any text."""
    return re.search(".*".join(map(re.escape, line.split("..."))), output) is not None
