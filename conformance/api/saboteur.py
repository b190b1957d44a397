"""What a saboteur is: a backend that is broken on purpose in one way, to prove that the harness sees it."""

from __future__ import annotations

import dataclasses

from conformance.api.backend import Backend

#: Entry points of this group give a sequence of saboteurs.
ENTRY_POINT_GROUP = "conformance_saboteurs"
#: Among the verdicts of a saboteur: a clause passes, and reports what is wrong, which it does not grade.
REPORTED = "REPORTED"


@dataclasses.dataclass(frozen=True, slots=True)
class Saboteur:
    """A broken backend, and what its author says must catch it.

    ``backend`` is a class at the top level of its module, so that a device can import it by name. ``caught_by`` are
    clause ids, each of which must find the breach, with one of ``verdicts`` ("FAIL", "CRASH", "TIMEOUT", "FLAKY") in
    one of ``phases`` (the verb: "lower", "save", "load", "run", "probe", "release", ...). With "REPORTED" among the
    verdicts it is caught as well where a clause passes and reports it: what nobody has promised is not graded. What
    fails is tried again only where "FLAKY" is among the verdicts. ``target`` is where the targets of these clauses
    run: "local", or "native" for what goes wrong only in a program without Python. One that ``replaces_functions`` of
    PyTorch's does what others do in native code: its devices do not look for that.
    """

    backend: type[Backend]
    sabotage: str
    caught_by: tuple[str, ...]
    verdicts: tuple[str, ...] = ("FAIL",)
    phases: tuple[str, ...] = ("run",)
    target: str = "local"
    replaces_functions: bool = False

    @property
    def name(self) -> str:
        """The backend's own name."""
        return self.backend.name

    @property
    def value(self) -> str:
        """Where a device finds the class, as an entry point writes it."""
        return f"{self.backend.__module__}:{self.backend.__qualname__}"
