"""``--conformance-resume``: an interrupted run is gone on with, and what it finished is not tried again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance._util.remembered import state_of_package
from conformance.contract import shipped_clauses
from conformance.discovery.describing import Description
from conformance.pytest_plugin._options import RunOptions
from conformance.pytest_plugin._run import CELL, KEPT
from conformance.report import ReportError, RunFacts, build_report
from conformance.report.compare.changes import circumstances_of
from conformance.report.model import Report
from conformance.report.parts import read_part
from conformance.report.resuming import Interrupted, interrupted

OPTION = "--conformance-resume"
#: Any of these tells whether a backend is the one that it was.
_IDENTITY = ("files of the backend", "files of its distribution", "files of its package")


class Resumer:
    """The plugin that gives cells the rows that an earlier run had for them: backend → id of the cell → row."""

    def __init__(self, kept: Mapping[str, Mapping[str, dict[str, Any]]]) -> None:
        self._kept = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Leave a cell as it was, whatever time there is."""
        cell = pyfuncitem.stash.get(CELL, None)
        row = self._kept.get(cell.backend, {}).get(cell.id) if cell is not None else None
        if row is None:
            return None
        pyfuncitem.stash[KEPT] = row
        return True


def facts_of(
    config: pytest.Config, options: RunOptions, run: RunFacts, description: Description, operators: Sequence[str]
) -> dict[str, Any]:
    """What decides the cells of a backend and what they come to: values of JSON by what they are."""
    report = read_part(Report, build_report(run, description, (), 0, {}))
    package = description.source.value.partition(":")[0]
    facts = {
        **circumstances_of(report),
        "files of its package": state_of_package(package) if package else "",
        "installed packages": report.environment,
        "time for a step": options.limits.seconds,
        "memory of a process": options.limits.memory_bytes,
        "number of reruns": options.reruns,
        "operators": list(operators),
        "samples of an operator": options.operator_samples,
        "golden sets": _digest_of_files(options.goldens),
        "expectations": _digest_of_files(config.option.conformance_expectations),
        "strictness about expectations": _strictness(config),
        "tests that were chosen": _digest(_selection(config, options)),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def interrupted_run(description: Description, folders: Sequence[Path], facts: Mapping[str, Any]) -> Interrupted:
    """What there is to go on with for a backend. Raises UsageError where that is nothing, or another run."""
    if not any(facts[name] for name in _IDENTITY):
        raise pytest.UsageError(f"{OPTION}: nothing tells whether {description.name} is the backend that it was")
    try:
        return interrupted(folders, facts, (clause.id for clause in shipped_clauses()))
    except ReportError as error:
        raise pytest.UsageError(f"{OPTION}: {error}. Without {OPTION} a run begins anew") from error


def _selection(config: pytest.Config, options: RunOptions) -> list[Any]:
    named = list(config.args) if config.args_source is config.ArgsSource.ARGS else []
    chosen = [getattr(config.option, name, None) for name in ("keyword", "markexpr", "deselect", "lf")]
    return [named, *chosen, list(options.select), str(options.shard)]


def _strictness(config: pytest.Config) -> str:
    strict = config.option.conformance_strict_expectations
    return str(config.getini("conformance_strict_expectations") if strict is None else strict)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _digest_of_files(path: str | Path | None) -> str:
    """Of a file, or of a folder's files and their places in it; empty where there is none."""
    if path is None or not Path(path).exists():
        return ""
    root = Path(path)
    files = sorted(each for each in root.rglob("*") if each.is_file()) if root.is_dir() else [root]
    return _digest([[str(each.relative_to(root)), hashlib.sha256(each.read_bytes()).hexdigest()] for each in files])
