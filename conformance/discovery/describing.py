"""What is known of a backend after asking it in a process of its own."""

from __future__ import annotations

import dataclasses
from typing import Any

from conformance._util.remembered import recall, remember, state_of_package
from conformance.api.availability import Availability
from conformance.api.errors import DeviceBroken, DeviceEnded, SubjectError
from conformance.api.features import Feature
from conformance.api.saboteur import ENTRY_POINT_GROUP as SABOTEUR_GROUP
from conformance.devices import Device, DeviceKind, Ledger, ZygotePool
from conformance.discovery.distribution import distribution_hash
from conformance.toolchains import Source, default_toolchain, installed_sources, toolchain_named

#: Building a backend may take long; importing and loading one may not.
_PREPARE_SECONDS = 900.0
_TOOLCHAIN = "toolchain"


@dataclasses.dataclass(frozen=True)
class Description:
    """A backend as plain data; see :func:`conformance.discovery.checking.describe` for where it comes from."""

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
    #: Of the files of the distribution; see :func:`conformance.discovery.distribution.distribution_hash`.
    distribution_hash: str | None = None
    #: The paths of its libraries. They do not get into a report.
    libraries: tuple[str, ...] = ()
    #: The options that its toolchain is given for it.
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: Why nothing that is lowered can be run here; empty where it can.
    only_lowers: str = ""

    def subject(self) -> dict[str, Any]:
        """What a device is told of the backend."""
        return dataclasses.asdict(self.source) | {"name": self.name, "libraries": list(self.libraries)}

    def environment(self, state: Availability) -> dict[str, str | None] | None:
        """What puts a process into a state; None when the author gave no way."""
        own = self.states[state.value]
        return None if own is None else {**self.prepared, **own}

    def has(self, feature: Feature) -> bool:
        """Whether the author does not declare the feature missing."""
        return feature.name not in self.missing_features

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
    """Import a source's class, prepare it if asked, describe it, and load it; in a child, so that it may crash.

    What was not prepared is described without its libraries, which need not be there yet. Where the harness itself
    fails in the child, which an author's class can bring about, the source is not usable either.
    """
    device = discovery(source, pool)
    description = None
    try:
        device.call("open", phase="import")
        prepared = device.call("prepare", seconds=_PREPARE_SECONDS) if prepare else {}
        # Only now, and only if they were prepared: a library may be what ``prepare()`` has just built.
        message = device.call("describe", prepared=prepare)
        description = _described(source, prepared, message)
        if prepare and source.distribution:
            digest = distribution_hash(source.distribution)
            description = dataclasses.replace(description, distribution_hash=digest)
        device.call("load", phase="load")
        device.release()
    except SubjectError as error:
        return Candidate(source, description, f"{error.phase} raised {error.type}: {error.text}")
    except DeviceEnded as error:
        return Candidate(source, description, f"{error}{_last_line(error.stderr)}")
    except DeviceBroken as error:
        said, _, details = str(error).partition(":\n")
        return Candidate(source, description, f"{said}{_last_line(details)}")
    finally:
        device.end()
    remember(_TOOLCHAIN, _key_of(source), description.toolchain)
    return Candidate(source, description)


def remembered_toolchain(source: Source) -> str:
    """Of which toolchain an author's class was when it was imported last; empty if that is not known any more."""
    found = recall(_TOOLCHAIN, _key_of(source)) if source.value else ""
    return found if isinstance(found, str) else ""


def _key_of(source: Source) -> str:
    return f"{source.value} {state_of_package(source.value.partition(':')[0])}"


def discovery(source: Source | None, pool: ZygotePool, toolchain: str = "") -> Device:
    """A process that finds out about a source, or (None) about what PyTorch knows of a toolchain."""
    subject = dataclasses.asdict(source) if source else None
    kind = discovery_kind(toolchain or (source.toolchain if source else ""))
    return Device("discovery", lambda: pool.fork(kind, subject, {}), Ledger())


def discovery_kind(toolchain: str) -> DeviceKind:
    """A device that finds out about backends; of the default toolchain where theirs is not known yet."""
    meant = toolchain_named(toolchain) if toolchain else default_toolchain()
    return DeviceKind(
        meant.name, "discovery", "conformance.discovery.session:open_session", meant.zygote("host"), is_guarded=False
    )


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
        options=message["options"],
        only_lowers=message["only_lowers"],
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return f": {lines[-1]}" if lines else ""


@dataclasses.dataclass(frozen=True)
class KnownSaboteur:
    """A saboteur as plain data; see :class:`conformance.api.saboteur.Saboteur`."""

    source: Source
    sabotage: str
    caught_by: tuple[str, ...]
    verdicts: tuple[str, ...]
    phases: tuple[str, ...]
    target: str


def known_saboteurs(pool: ZygotePool) -> list[KnownSaboteur]:
    """Every saboteur that is installed. Raises SelectionError when those of a distribution cannot be imported."""
    found = []
    for point in installed_sources(SABOTEUR_GROUP):
        device = discovery(point, pool)
        try:
            rows = device.call("saboteurs", phase="import")
        except (SubjectError, DeviceEnded) as error:
            raise SelectionError(f"the saboteurs of {point.distribution} cannot be imported: {error}") from error
        finally:
            device.end()
        found += [
            KnownSaboteur(
                dataclasses.replace(
                    point,
                    name=row["name"],
                    value=row["value"],
                    toolchain=row["toolchain"],
                    replaces_functions=row["replaces_functions"],
                ),
                row["sabotage"],
                tuple(row["caught_by"]),
                tuple(row["verdicts"]),
                tuple(row["phases"]),
                row["target"],
            )
            for row in rows
        ]
    return found
