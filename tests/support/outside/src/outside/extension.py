"""The hooks that this distribution implements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance import hookimpl
from conformance.devices import Pool, ZygotePool
from conformance.extensions import CaseModules, SuiteFolder
from conformance.report.formats import Format
from conformance.targets import Target, TargetKind
from conformance.toolchains import Toolchain
from outside.toolchain import PostfixToolchain


@hookimpl
def conformance_toolchains() -> list[Toolchain]:
    """A stack of our own."""
    return [PostfixToolchain()]


@hookimpl
def conformance_cases() -> list[CaseModules]:
    """A model for TorchScript delegates."""
    return [CaseModules("torchscript", ("outside.cases",))]


@hookimpl
def conformance_suites() -> list[SuiteFolder]:
    """A clause on that model."""
    return [SuiteFolder("torchscript", Path(__file__).with_name("clauses"))]


@hookimpl
def conformance_report_formats() -> list[Format]:
    """A line for each cell."""
    return [Format("lines", "report.txt", _lines)]


@hookimpl
def conformance_targets() -> list[TargetKind]:
    """Processes of this machine that are told to be our board."""
    return [TargetKind("board=NAME", "our board, as processes here", _published, _open)]


def _lines(report: dict[str, Any]) -> str:
    return "".join(f"{row['verdict']} {row['id']}\n" for row in report["cells"])


def _published(spec: str) -> str:
    kind, _, name = spec.partition("=")
    if kind != "board":
        raise ValueError
    if not name:
        raise ValueError("board= needs the name of a board")
    return "board"


class _Board:
    """A pool whose devices know on which board they are."""

    def __init__(self, name: str, local: ZygotePool) -> None:
        self._name = name
        self._local = local

    def fork(self, kind: Any, subject: Any, environment: dict[str, str | None], limits: Any = None) -> Any:
        """A device with the name of the board in its environment."""
        return self._local.fork(kind, subject, {**environment, "OUTSIDE_BOARD": self._name}, limits)


def _open(spec: str, local: ZygotePool, native: Pool) -> Target:
    return Target("board", _Board(spec.partition("=")[2], local))
