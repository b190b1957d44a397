"""Where a backend comes from, and making it in a process that is to run it."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from typing import Any

#: The entry points by which authors' classes are found.
ENTRY_POINT_GROUP = "conformance_backends"


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """Where a backend comes from: an entry point's ``value`` (``module:attribute``) that gives an author's class, a
    ``library``, or, with neither, what its toolchain knows by name; once a module was imported, if it has ``imports``.

    ``name`` is what the backend is called in a run, ``registered`` what it is known by where it was found (the same
    when empty). ``toolchain`` is empty while only importing the class could tell. ``options`` replace its. Only a
    saboteur ``replaces_functions`` and is not charged for it.
    """

    name: str
    value: str = ""
    library: str = ""
    distribution: str = ""
    version: str = ""
    toolchain: str = ""
    registered: str = ""
    options: dict[str, Any] | None = dataclasses.field(default=None, hash=False)
    imports: str = ""
    replaces_functions: bool = False

    @property
    def found_as(self) -> str:
        """The name by which ``--backend`` finds it, whatever a run calls it."""
        name = self.registered or self.name
        return f"{self.imports}:{name}" if self.imports else name


class PluginError(Exception):
    """An author's class is not what the harness can use; the text says what was expected and found."""


def installed_sources(group: str = ENTRY_POINT_GROUP) -> tuple[Source, ...]:
    """Every entry point of the group, sorted by name; importing none of them.

    A name may stand there several times, as the name of backends of different toolchains.
    """
    found: dict[tuple[str, str], Source] = {}
    for point in importlib.metadata.entry_points(group=group):
        distribution = point.dist
        found.setdefault(
            (point.name, point.value),
            Source(
                name=point.name,
                value=point.value,
                distribution=distribution.name if distribution else "",
                version=distribution.version if distribution else "",
            ),
        )
    return tuple(found[key] for key in sorted(found))
