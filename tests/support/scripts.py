"""Running reproducers."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.project import Run


@dataclasses.dataclass
class Told:
    """What a script ended with, and what it said."""

    exit_code: int
    output: str


def run_script(script: Path, *arguments: str, site: Path | None = None, **variables: str) -> Told:
    """Run a script from another folder; ``site`` is a folder of modules that is looked at first, ``variables`` are of
    its environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=tempfile.gettempdir(),
        env=environment | variables | ({"PYTHONPATH": str(site)} if site else {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return Told(done.returncode, done.stdout)


def code_of(files: Mapping[str, bytes]) -> str:
    """The code of a reproducer as one text: what its script imports of support, in front of the script."""
    support = files["support.py"].decode()
    script = files["reproduce.py"].decode()
    imported = re.search(r"^from support import (?:\((?P<many>[^)]*)\)|(?P<few>.*))$", script, re.MULTILINE)
    assert imported is not None, script
    names = re.findall(r"\w+", imported["many"] or imported["few"])
    tops = [node for node in ast.parse(support).body if not isinstance(node, ast.Import | ast.ImportFrom)]
    bound = {node.name for node in tops if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = [each for node in tops if isinstance(node, ast.Assign | ast.AnnAssign) for each in ast.walk(node)]
    bound |= {each.id for each in targets if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    assert bound >= set(names), f"support.py lacks {set(names) - bound}"
    rest = script[: imported.start()] + script[imported.end() :]
    return support + rest.replace("from __future__ import annotations\n", "")


def scripts_of(run: Run, backend: str) -> dict[str, Path]:
    """Cell id → script, as the rows of the report name them."""
    folder = run.report_folder(backend)
    rows = run.report(backend)["cells"]
    return {row["id"]: folder / row["reproducer"]["script"] for row in rows if "reproducer" in row}


def failing_rows(run: Run, backend: str) -> list[dict[str, Any]]:
    """The cells that failed each time."""
    return [row for row in run.report(backend)["cells"] if row["verdict"] in ("FAIL", "CRASH")]
