"""The parts of a script for a TorchScript backend."""

from __future__ import annotations

from conformance.devices import Step
from conformance.standalone.reproducers._scenario import ReproducedBackend
from conformance.standalone.reproducers.kit import Kit
from conformance.toolchains.torchscript.reproduce.steps import WRITERS

_HERE = "conformance.toolchains.torchscript"


def _constants(backend: ReproducedBackend) -> list[str]:
    return [
        "#: The files of the backend's libraries: named with --library, or looked for (see find_backend below).",
        f"LIBRARIES = {backend.reproduction.libraries!r}",
    ]


def _lowered_cases(steps: list[Step]) -> list[str]:
    named = [step.arguments["case"] for step in steps if step.verb == "script"]
    named += [case for step in steps if step.verb == "lower_selectively" for case in step.arguments["cases"]]
    return list(dict.fromkeys(named))


KIT = Kit(
    verbs_package=f"{_HERE}.verbs",
    builds="script",
    loading=f"{_HERE}.reproduce.loading",
    session=f"{_HERE}.reproduce.session",
    trials=f"{_HERE}.reproduce.trials",
    writers=WRITERS,
    constants=_constants,
    provided=frozenset(),
    needs="torch and the backend's library, and nothing else",
    option="--library PATH",
    roles={
        "host": "The process that lowers and saves.",
        "target": "The process that loads and runs.",
        "bare": "A process in which no backend is loaded.",
    },
    lowered_cases=_lowered_cases,
    encoded=("run",),
)
