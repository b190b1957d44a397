"""The mutants of this distribution, as the harness knows them. Imports no torch."""

from __future__ import annotations

import functools

from conformance.api.mutants import Mutants
from torch_conformance_saboteurs.mutants.grammar import FIRINGS, VARIABLE, draw, sentence
from torch_conformance_saboteurs.mutants.witness import witness

_HERE = "torch_conformance_saboteurs.mutants"

MUTANTS = tuple(
    Mutants(
        toolchain=toolchain,
        backend=backend,
        probe=f"{_HERE}.probe:open_session",
        variable=VARIABLE,
        firings=FIRINGS,
        draw=functools.partial(draw, toolchain=toolchain),
        sentence=sentence,
        witness=witness,
    )
    for toolchain, backend in (
        ("torchscript", f"{_HERE}.torchscript:TorchScriptMutant"),
        ("dynamo", f"{_HERE}.dynamo:DynamoMutant"),
    )
)
