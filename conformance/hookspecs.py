"""What can be plugged in: hooks of pluggy, which a distribution implements in a module of its own.

The module is named by an entry point of the group ``conformance``; the harness declares its own toolchains, report
formats and targets in the same way::

    [project.entry-points.conformance]
    mine = "mine.extension"

    # mine/extension.py
    from conformance import hookimpl


    @hookimpl
    def conformance_cases():
        return [CaseModules("my-toolchain", ("mine.cases",))]

A module that implements hooks is imported by every run that has a backend, and so imports nothing that takes time:
what a hook gives names the rest as ``module`` or ``module:attribute``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from conformance.extensions import CaseModules, Format, SuiteFolder
    from conformance.targets import TargetKind
    from conformance.toolchains import Toolchain

hookspec = pluggy.HookspecMarker("conformance")
hookimpl = pluggy.HookimplMarker("conformance")


@hookspec
def conformance_toolchains() -> Iterable[Toolchain]:  # type: ignore[empty-body]
    """The PyTorch stacks that backends plug into. See :class:`conformance.toolchains.Toolchain`."""


@hookspec
def conformance_suites() -> Iterable[SuiteFolder]:  # type: ignore[empty-body]
    """Folders of clauses, each for one toolchain. Their clauses are tried and reported beside the contract, of which
    they are no part. They are stated as ``Level.REPORTED``, so that they count towards no level and no certificate."""


@hookspec
def conformance_cases() -> Iterable[CaseModules]:  # type: ignore[empty-body]
    """Modules that register cases, which every process that builds models imports."""


@hookspec
def conformance_targets() -> Iterable[TargetKind]:  # type: ignore[empty-body]
    """Kinds of target that ``--conformance-target`` can name."""


@hookspec
def conformance_report_formats() -> Iterable[Format]:  # type: ignore[empty-body]
    """Formats that a report can be written in."""
