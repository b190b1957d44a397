"""Where artifacts are loaded and run: here, in a program without Python, or elsewhere.

``--conformance-target`` says which. Extensions add kinds of target by the hook ``conformance_targets``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import TYPE_CHECKING

from conformance.devices import Pool, ZygotePool
from conformance.extensions import given

if TYPE_CHECKING:
    from conformance.discovery.describing import Description

__all__ = ["LOCAL", "NATIVE", "Target", "TargetError", "TargetKind", "open_target", "published_spec"]

LOCAL = "local"
NATIVE = "native"


class TargetError(Exception):
    """A target was asked for that is not known, or that cannot be had here; the text says what there is."""


class Target:
    """Where the targets of one run come from: a pool of devices. What needs to be reached first is a subclass."""

    #: Whether each process of a run may have one of its own, as the workers of pytest-xdist do.
    one_for_each_worker = True

    def __init__(self, spec: str, pool: Pool) -> None:
        self._spec = spec
        self.pool = pool

    def expect(self, descriptions: Sequence[Description]) -> None:
        """Be told the backends of the run, before any device is asked for."""

    def connect(self) -> None:
        """See that the target can be reached and has what it needs. Raises HarnessError, with the remedy."""

    def close(self) -> None:
        """End what runs there."""

    def described(self) -> dict[str, str]:
        """What a report says of the target: ``spec``, and versions of what is there."""
        return {"spec": self._spec, "torch": metadata.version("torch")}


@dataclasses.dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target.

    ``form`` is how users write a spec, and ``summary`` what it is. ``published`` gives what a report may say of a spec,
    without host, user or path; it raises ValueError, and says why, for a spec that is of no use to this kind. ``open``
    makes the target of a spec, with the pools of this machine: of devices, and of programs without Python.
    """

    form: str
    summary: str
    published: Callable[[str], str]
    open: Callable[[str, ZygotePool, Pool], Target]


def _kind_of(spec: str) -> tuple[TargetKind, str]:
    """The kind that takes a spec, and what a report may say of it. Raises TargetError where none does."""
    kinds = given("conformance_targets", TargetKind)
    reasons = []
    for kind in kinds:
        try:
            return kind, kind.published(spec)
        except ValueError as error:
            if str(error):
                reasons.append(str(error))
    known = "; ".join(f"{kind.form!r}, {kind.summary}" for kind in kinds)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    raise TargetError(f"--conformance-target {spec!r} is no target{why}. There is: {known}")


def published_spec(spec: str) -> str:
    """What a report may say of a spec: its kind alone. Raises TargetError for a spec that is not understood."""
    return _kind_of(spec)[1]


def open_target(spec: str, local: ZygotePool, native: Pool) -> Target:
    """Where targets come from. Raises TargetError for a spec that is not understood."""
    kind, _ = _kind_of(spec)
    return kind.open(spec, local, native)
