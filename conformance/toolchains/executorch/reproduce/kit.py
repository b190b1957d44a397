"""The parts of a script for a delegate of ExecuTorch."""

from __future__ import annotations

from conformance.standalone.reproducers._scenario import ReproducedBackend
from conformance.standalone.reproducers.kit import Kit
from conformance.toolchains.executorch.reproduce.steps import WRITERS

_HERE = "conformance.toolchains.executorch"


def _constants(backend: ReproducedBackend) -> list[str]:
    return [
        "#: The files of the run-time half: named with --library, or looked for (see find_backend below).",
        f"LIBRARIES = {backend.reproduction.libraries!r}",
    ]


KIT = Kit(
    verbs_package=f"{_HERE}.verbs",
    builds="export",
    loading=f"{_HERE}.reproduce.loading",
    session=f"{_HERE}.reproduce.session",
    trials=f"{_HERE}.reproduce.trials",
    writers=WRITERS,
    constants=_constants,
    provided=frozenset(),
    needs="torch, ExecuTorch, the backend's package and torch-conformance",
    option="--library PATH",
    roles={
        "host": "The process that exports and lowers.",
        "target": "The process that loads and runs.",
        "bare": "A process in which no delegate is loaded.",
    },
    encoded=("run",),
)
