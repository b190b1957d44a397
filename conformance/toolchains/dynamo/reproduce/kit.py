"""The parts of a script for a backend of torch.compile."""

from __future__ import annotations

from conformance.standalone.reproducers._scenario import ReproducedBackend
from conformance.standalone.reproducers.kit import Kit
from conformance.toolchains.dynamo.reproduce.steps import WRITERS

_HERE = "conformance.toolchains.dynamo"


def _constants(backend: ReproducedBackend) -> list[str]:
    return [
        "#: What torch.compile is given beside the backend, and the modules that its author says it needs.",
        f"OPTIONS = {backend.reproduction.options or None!r}",
        f"MODE = {backend.reproduction.mode!r}",
        f"RUNTIME = {backend.reproduction.runtime!r}",
        "#: The module that registers the backend, where no entry point does.",
        f"IMPORTS = {backend.reproduction.imports!r}",
    ]


KIT = Kit(
    verbs_package=f"{_HERE}.verbs",
    builds="build",
    loading=f"{_HERE}.reproduce.loading",
    session=f"{_HERE}.reproduce.session",
    trials=f"{_HERE}.reproduce.trials",
    writers=WRITERS,
    constants=_constants,
    provided=frozenset({"OPTIONS", "MODE", "RUNTIME", "IMPORTS"}),
    needs="torch and the backend, and nothing else",
    option="--backend NAME",
    roles={
        "host": "The process that compiles.",
        "target": "The process that loads what the other one saved.",
        "bare": "A process in which nothing is compiled: what eager PyTorch does.",
    },
    hiding=(f"{_HERE}.verbs.runtime", "hide"),
    observation=(f"{_HERE}.observations", "Observation"),
)
