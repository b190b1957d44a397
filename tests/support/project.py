"""Projects with plugins that are made on the spot, and pytest runs in processes of their own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


@dataclasses.dataclass
class Run:
    """A finished pytest run, and where its reports lie."""

    exit_code: int
    output: str
    folder: Path

    def report_folder(self, backend: str) -> Path:
        """Where the report of one backend lies: that of the whole contract, or else of the part that was tried."""
        whole = self.folder / "conformance-report" / backend
        return whole if (whole / "report.json").is_file() else whole / "part"

    def report(self, backend: str) -> dict[str, Any]:
        """The report of one backend."""
        text = (self.report_folder(backend) / "report.json").read_text(encoding="utf-8")
        report: dict[str, Any] = json.loads(text)
        return report

    def verdicts(self, backend: str) -> dict[str, tuple[str, str]]:
        """Cell id → verdict and phase."""
        return {row["id"]: (row["verdict"], row["phase"]) for row in self.report(backend)["cells"]}


class Project:
    """A folder with backends that are installed by nothing but their metadata, and pytest runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "site"
        self.site.mkdir()

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        (self.folder / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def install(self, name: str, source: str, attribute: str = "Plugin", group: str = "conformance_backends") -> None:
        """A distribution with one backend, ``name``, whose module has this source."""
        module = f"plugin_{name}" if group == "conformance_backends" else f"registered_{name}"
        (self.site / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        metadata = self.site / f"{module}-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.2\n")
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:{attribute}\n")

    def tell_of_torch(self) -> None:
        """Let runs with this folder as their root end with "torch was imported: True", or False."""
        self.write(
            "conftest.py",
            """
            import atexit
            import sys

            atexit.register(lambda: print("torch was imported:", "torch" in sys.modules))
            """,
        )

    def command(self, *arguments: str) -> list[str]:
        """The command line of a pytest run."""
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a pytest run: the project's own distributions on the path, 80 columns, no outer pytest."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        return {**kept, "PYTHONPATH": str(self.site), "COLUMNS": "80"}

    def run(self, *arguments: str, seconds: float = 300, **environment: str) -> Run:
        """Run pytest to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment | environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
        return Run(done.returncode, done.stdout, self.folder)


def wait_until(happens: Callable[[], bool], seconds: float = 120) -> None:
    """Look until it has happened; fail after two minutes, or so many seconds."""
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def is_there(pid: int) -> bool:
    """Whether the process has not ended. (The parent of one that has may be late to hear of it.)"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
