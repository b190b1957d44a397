"""The mutants of this distribution, as the harness knows them. Imports no torch."""

from __future__ import annotations

from torch_conformance_saboteurs.mutants.grammar import EFFECTS, Dialect
from torch_conformance_saboteurs.mutants.kinds import mutants_of
from torch_conformance_saboteurs.mutants.operators import meant_by

_HERE = "torch_conformance_saboteurs_executorch.mutants"

#: What a runtime without PyTorch cannot do to it, but lowering can.
_OF_PYTHON = (
    "random numbers drawn",
    "Python's random numbers drawn",
    "grad mode left",
    "default dtype left",
    "threads left",
    "determinism left",
    "function replaced",
)
#: What has no meaning where a caller owns the memory of all results, whose dtypes, ranks and layouts are planned, and
#: where there are no gradients.
_WITHOUT = (
    *("other dtype", "other strides", "other shape", "copied", "in the input's memory", "former overwritten"),
    *("memory kept", "other error", "stale weights", "requires_grad lost"),
)

EXECUTORCH = Dialect(
    "executorch",
    {"operator": 50.0, "call": 30.0, "lowering": 6.0, "release": 2.0, "load": 8.0},
    frozenset((*_WITHOUT, *(name for name, each in EFFECTS.items() if each.places == ("backward",)))),
    dict.fromkeys(_OF_PYTHON, ("lowering",)),
    frozenset(
        (
            *(("layout", each) for each in ("transposed", "stepped", "offset", "expanded", "channels_last")),
            *(("inputs", each) for each in ("requires grad", "refilled", "the same again")),
            *(("outputs", each) for each in ("an input", "a view of an input", "one twice")),
            *(("mode", each) for each in ("grad", "inference", "autocast")),
            *(("weights", each) for each in ("changed in place", "replaced")),
            # A program is for inputs of these dtypes, and has no writes.
            *(("dtype", "complex64"), ("operands", "shared memory"), ("earlier", "another dtype")),
            ("operator", "in-place"),
            *(("operator", each.name) for each in meant_by("in-place")),
        )
    ),
    # PyTorch's modes are none of the runtime's.
    {"mode": ("lowering",)},
)

MUTANTS = (mutants_of(EXECUTORCH, f"{_HERE}.backend:ExecuTorchMutant", f"{_HERE}.probe:open_session"),)
