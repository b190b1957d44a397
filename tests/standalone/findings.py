"""Scripts of what generated cells may find, for findings that a test makes up."""

from __future__ import annotations

import base64
import dataclasses
from pathlib import Path
from typing import Any

from support.descriptions import ANY_BACKEND

from conformance.api.verdicts import Outcome, Verdict
from conformance.compare.comparison import Margin
from conformance.compare.values import encode
from conformance.contract import shipped_clauses
from conformance.devices import Limits
from conformance.generate.steps import Trial
from conformance.generate.tally import Finding
from conformance.run.plan import cells_of
from conformance.run.result import Record, Result
from conformance.standalone.reproducers._generated import generated_reproducers
from conformance.standalone.reproducers._scenario import ReproducedBackend
from conformance.toolchains import Reproduction

#: What the ids of generated clauses begin with.
_PREFIXES = {"dynamo": "compile.", "executorch": "delegate."}


def files_of(
    trial: Trial,
    observable: str,
    toolchain: str = "dynamo",
    backend: ReproducedBackend | None = None,
    **particulars: Any,
) -> dict[str, bytes]:
    """The script of one finding, and what lies beside it."""
    name = f"{_PREFIXES.get(toolchain, '')}generated.programs"
    clause = next(each for each in shipped_clauses() if each.id == name)
    description = dataclasses.replace(ANY_BACKEND, toolchain=toolchain)
    cell = cells_of(clause, description)[0]
    finding = Finding(trial, observable, "run", particulars.pop("verdict", "FAIL"), "off by \\ one", **particulars)
    record = Record(findings=(finding,))
    result = Result(cell, Outcome(Verdict.FAIL, "run", "off"), {}, record, Margin())
    specs = {"generated": encode({"forward": {"": ""}})} if toolchain == "torchscript" else {}
    backend = backend or ReproducedBackend("broken", "plugin:Class", Reproduction(loads=False, specs=specs))
    message = generated_reproducers(result, description, backend, 7, Limits())
    return {file: base64.b64decode(data) for file, data in message["files"].items()}


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """The script, in a folder of its own."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder / "reproduce.py"
