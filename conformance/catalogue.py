"""The backends that can be chosen, and what is known of each after asking it in a process of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from pathlib import Path
from typing import Any

from conformance.availability import Availability
from conformance.devices import Device, Ledger, ZygotePool
from conformance.distribution import distribution_hash
from conformance.errors import DeviceEnded, SubjectError
from conformance.features import Feature
from conformance.registry import Source, installed_sources
from conformance.saboteur import ENTRY_POINT_GROUP as SABOTEUR_GROUP

#: Building a backend may take long; importing and loading one may not.
_PREPARE_SECONDS = 900.0


@dataclasses.dataclass(frozen=True)
class Description:
    """A backend as plain data; see :func:`conformance.registry.describe` for where it comes from."""

    source: Source
    #: What ``prepare()`` found, for every device of the run.
    prepared: dict[str, str | None]
    name: str
    toolchain: str
    missing_features: dict[str, str]
    tolerances: dict[str, tuple[float, float]]
    states: dict[str, dict[str, str | None] | None]
    lost: dict[str, str | None] | None
    files: tuple[dict[str, str], ...]
    #: A folder of golden sets that the backend's distribution brings.
    goldens: str | None = None
    #: Of the files of the distribution; see :func:`conformance.distribution.distribution_hash`.
    distribution_hash: str | None = None
    #: The paths of a TorchScript backend's libraries. They do not get into a report.
    libraries: tuple[str, ...] = ()

    def subject(self) -> dict[str, Any]:
        """What a device is told of the backend."""
        return dataclasses.asdict(self.source) | {"name": self.name, "libraries": list(self.libraries)}

    def environment(self, state: Availability) -> dict[str, str | None] | None:
        """What puts a process into a state; None when the author gave no way."""
        own = self.states[state.value]
        return None if own is None else {**self.prepared, **own}

    def lacks(self, features: frozenset[Feature]) -> dict[str, str]:
        """Those of the features that are declared missing, with the reasons."""
        return {each.name: self.missing_features[each.name] for each in features if each.name in self.missing_features}

    def as_message(self) -> dict[str, Any]:
        """The description in builtin types, for another process of the same run."""
        return dataclasses.asdict(self)

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Description:
        """What :meth:`as_message` gave."""
        return cls(
            **{
                **message,
                "source": Source(**message["source"]),
                "tolerances": {name: (pair[0], pair[1]) for name, pair in message["tolerances"].items()},
                "files": tuple(message["files"]),
                "libraries": tuple(message["libraries"]),
            }
        )


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A source after it was asked: usable with a description, or not usable with the reason."""

    source: Source
    description: Description | None = None
    problem: str = ""

    @property
    def usable(self) -> bool:
        return not self.problem


class SelectionError(Exception):
    """The backends that were asked for cannot be had; the text says what there is instead."""


def examine(source: Source, pool: ZygotePool, *, prepare: bool) -> Candidate:
    """Import a source's class, describe it, prepare it if asked, and load it; in a child, so that it may crash."""
    device = _discovery(source, pool)
    description = None
    try:
        device.call("describe", phase="import")
        prepared = device.call("prepare", seconds=_PREPARE_SECONDS) if prepare else {}
        description = _described(source, prepared, device.call("describe", phase="import"))
        if prepare and source.distribution:
            digest = distribution_hash(source.distribution)
            description = dataclasses.replace(description, distribution_hash=digest)
        device.call("load", phase="load")
        device.release()
    except SubjectError as error:
        return Candidate(source, description, f"{error.phase} raised {error.type}: {error.text}")
    except DeviceEnded as error:
        return Candidate(source, description, f"{error}{_last_line(error.stderr)}")
    finally:
        device.end()
    return Candidate(source, description)


def _discovery(source: Source, pool: ZygotePool) -> Device:
    return Device("discovery", lambda: pool.fork("discovery", dataclasses.asdict(source), {}), Ledger())


def _described(source: Source, prepared: dict[str, str | None], message: dict[str, Any]) -> Description:
    return Description(
        source=source,
        prepared=prepared,
        name=message["name"],
        toolchain=message["toolchain"],
        missing_features=message["missing_features"],
        tolerances={name: (pair[0], pair[1]) for name, pair in message["tolerances"].items()},
        states=message["states"],
        lost=message["lost"],
        files=tuple(message["files"]),
        goldens=message["goldens"],
        libraries=tuple(message["libraries"]),
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return f": {lines[-1]}" if lines else ""


def candidates(pool: ZygotePool) -> list[Candidate]:
    """Every installed source, examined without preparing it."""
    return [examine(source, pool, prepare=False) for source in installed_sources()]


def library_sources(library: Path, pool: ZygotePool, *, option: str = "--conformance-library") -> list[Source]:
    """The backends that a TorchScript library registers, found by loading it in a child.

    Raises SelectionError when the file is missing, does not load, or registers none; ``option`` is what named it.
    """
    if not library.is_file():
        raise SelectionError(f"{option}: there is no file {library}; give the path of a shared library")
    source = Source(name="", library=str(library.resolve()))
    device = _discovery(source, pool)
    try:
        names = device.call("load", phase="load")
        device.release()
    except (SubjectError, DeviceEnded) as error:
        raise SelectionError(
            f"{option}: {library.name} does not load: {error}. Was it built for this version of torch and of Python?"
        ) from error
    finally:
        device.end()
    if not names:
        raise SelectionError(
            f"{option}: {library.name} loads, but registers no TorchScript backend "
            "(a static torch::jit::backend<...> object in it would)"
        )
    return [dataclasses.replace(source, name=name) for name in names]


@dataclasses.dataclass(frozen=True)
class KnownSaboteur:
    """A saboteur as plain data; see :class:`conformance.saboteur.Saboteur`."""

    source: Source
    sabotage: str
    caught_by: tuple[str, ...]
    verdicts: tuple[str, ...]
    phases: tuple[str, ...]


def known_saboteurs(pool: ZygotePool) -> list[KnownSaboteur]:
    """Every saboteur that is installed. Raises SelectionError when those of a distribution cannot be imported."""
    found = []
    for point in installed_sources(SABOTEUR_GROUP):
        device = _discovery(point, pool)
        try:
            rows = device.call("saboteurs", phase="import")
        except (SubjectError, DeviceEnded) as error:
            raise SelectionError(f"the saboteurs of {point.distribution} cannot be imported: {error}") from error
        finally:
            device.end()
        found += [
            KnownSaboteur(
                dataclasses.replace(point, name=row["name"], value=row["value"]),
                row["sabotage"],
                tuple(row["caught_by"]),
                tuple(row["verdicts"]),
                tuple(row["phases"]),
            )
            for row in rows
        ]
    return found


def select(names: list[str], library: Path | None, pool: ZygotePool) -> list[Candidate]:
    """The backends of those names (all that the library registers when there are none), examined and prepared.

    Raises SelectionError for a name that nothing provides.
    """
    known = {source.name: source for source in installed_sources()}
    if library is not None:
        registered = {source.name: source for source in library_sources(library, pool)}
        names = names or sorted(registered)
        known |= registered
    if any(name not in known for name in names):
        with contextlib.suppress(SelectionError):  # saboteurs that cannot be imported hide nothing else
            known = {each.source.name: each.source for each in known_saboteurs(pool)} | known
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SelectionError(_unknown_text(unknown[0], sorted(source.name for source in installed_sources())))
    return [examine(known[name], pool, prepare=True) for name in dict.fromkeys(names)]


def _unknown_text(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listing = ", ".join(known) if known else "none is installed"
    return (
        f"there is no backend named {name!r}.{hint} Known here: {listing}. A backend is found by an entry point of "
        "the group 'conformance_backends', or by --conformance-library=PATH; --list-backends shows details."
    )


__all__ = ["Candidate", "Description", "SelectionError", "candidates", "examine", "select"]
