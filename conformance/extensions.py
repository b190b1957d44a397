"""The plugin manager, and what extensions give by its hooks.

Nothing here imports torch. A distribution takes part by an entry point of the group ``conformance``, which names a
module with implementations of :mod:`conformance.hookspecs`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pluggy

from conformance import hookspecs
from conformance.api.errors import HarnessError

ENTRY_POINT_GROUP = "conformance"


@dataclasses.dataclass(frozen=True, slots=True)
class CaseModules:
    """Modules whose import registers cases of a toolchain."""

    toolchain: str
    modules: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SuiteFolder:
    """A folder with files ``test_*.py`` that state clauses about backends of a toolchain."""

    toolchain: str
    folder: Path


@dataclasses.dataclass(frozen=True, slots=True)
class Format:
    """A format: its name for ``conformance show --format``, the file that a run writes beside report.json, and what
    gives the text of a report that ``read_report`` validated."""

    name: str
    file: str
    render: Callable[[dict[str, Any]], str]
    #: The same, with the folder in which the report lies and whose other files the text may show.
    render_in: Callable[[dict[str, Any], Path], str] | None = None

    def text(self, report: dict[str, Any], folder: Path) -> str:
        """The text of a report that lies in ``folder``."""
        return self.render_in(report, folder) if self.render_in else self.render(report)


class ExtensionError(HarnessError):
    """An extension cannot be used; the text names its distribution, and says what was expected and found."""


@functools.cache
def extensions() -> pluggy.PluginManager:
    """The manager, with every installed extension registered; the harness's own come first.

    Raises ExtensionError for a module that cannot be imported, or that implements a hook which there is not.
    """
    manager = pluggy.PluginManager("conformance")
    manager.add_hookspecs(hookspecs)
    points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    for point in sorted(points, key=lambda each: (_distribution(each) != "torch-conformance", each.name)):
        where = _where(point)
        if manager.has_plugin(point.name):
            if getattr(manager.get_plugin(point.name), "__name__", "") == point.module:
                continue  # the same distribution, found on two paths
            raise ExtensionError(f"{where} has the name of another one; uninstall one of the two")
        try:
            module = importlib.import_module(point.module)
        except Exception as error:
            raise ExtensionError(
                f"{where} cannot be imported: {type(error).__name__}: {error}. Mend it, or uninstall its distribution"
            ) from error
        try:
            manager.register(module, point.name)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            raise ExtensionError(f"{where} implements a hook that there is not, or otherwise: {error}") from error
    return manager


def given(hook: str, kind: type) -> list[Any]:
    """What all extensions give by a hook, in the order of their registration.

    Raises ExtensionError for a hook that raises, that gives no iterable, or something of another type than ``kind``.
    """
    # One by one, and not by pluggy: what is wrong is said of the one that it is wrong with.
    implementations = getattr(extensions().hook, hook).get_hookimpls()
    return [each for implementation in implementations for each in _given_by(implementation, hook, kind)]


def _given_by(implementation: pluggy.HookImpl, hook: str, kind: type) -> list[Any]:
    """What one extension gives by a hook."""
    expected = f"{kind.__module__}.{kind.__qualname__}"
    try:
        answer = implementation.function()
        answers: Any = () if answer is None else answer
        are_several = isinstance(answers, Iterable)
        found: list[Any] = list(answers) if are_several else [answers]  # a generator raises only now
    except Exception as error:
        raise ExtensionError(
            f"{_named(implementation)} fails in the hook {hook}: {type(error).__name__}: {error}. Mend it, or "
            "uninstall its distribution"
        ) from error
    wrong = [each for each in found if not (are_several and isinstance(each, kind))]
    if wrong:
        wanted = f"a {expected}" if are_several else f"a list of {expected}"
        raise ExtensionError(
            f"{_named(implementation)} gives {type(wrong[0]).__name__} by the hook {hook}, where {wanted} was "
            f"expected: {wrong[0]!r:.80}"
        )
    return found


def resolve(reference: str) -> Any:
    """What ``module:attribute`` refers to, or the module where there is no attribute. Imports the module."""
    module_name, _, attribute = reference.partition(":")
    target: Any = importlib.import_module(module_name)
    for part in filter(None, attribute.split(".")):
        target = getattr(target, part)
    return target


def _where(point: importlib.metadata.EntryPoint) -> str:
    return f"the extension {point.name!r} of {_distribution(point) or 'an unknown distribution'} ({point.value})"


def _named(implementation: pluggy.HookImpl) -> str:
    points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP, name=implementation.plugin_name)
    return _where(next(iter(points)))


def _distribution(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else ""
