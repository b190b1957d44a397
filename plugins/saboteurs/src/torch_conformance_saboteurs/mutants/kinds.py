"""The mutants of this distribution, as the harness knows them. Imports no torch."""

from __future__ import annotations

import functools

from conformance.api.mutants import Mutants
from torch_conformance_saboteurs.mutants.dialects import DYNAMO, TORCHSCRIPT
from torch_conformance_saboteurs.mutants.grammar import FIRINGS, VARIABLE, Dialect, draw, sentence
from torch_conformance_saboteurs.mutants.witness import witness

_HERE = "torch_conformance_saboteurs.mutants"


def mutants_of(dialect: Dialect, backend: str, probe: str) -> Mutants:
    """The mutants of a toolchain: the class that plays them, and the function that opens a session of their probe."""
    return Mutants(
        toolchain=dialect.toolchain,
        backend=backend,
        probe=probe,
        variable=VARIABLE,
        firings=FIRINGS,
        draw=functools.partial(draw, dialect=dialect),
        sentence=sentence,
        witness=witness,
    )


MUTANTS = (
    mutants_of(TORCHSCRIPT, f"{_HERE}.torchscript:TorchScriptMutant", f"{_HERE}.probe:open_delegated"),
    mutants_of(DYNAMO, f"{_HERE}.dynamo:DynamoMutant", f"{_HERE}.probe:open_compiled"),
)
