"""What mutants of TorchScript delegates and of backends of ``torch.compile`` can be like. Imports no torch."""

from __future__ import annotations

from torch_conformance_saboteurs.mutants.grammar import Dialect

_OF_GRADIENTS = ("gradient off", "gradient zero", "gradient doubled", "gradient missing", "gradient of one element")
#: What happens to weights and gradients, where a lowered model keeps copies of its weights and computes forward alone.
_KEEPS_COPIES = frozenset(
    (("inputs", "requires grad"), ("mode", "autocast"), ("weights", "changed in place"), ("weights", "replaced"))
)

TORCHSCRIPT = Dialect(
    "torchscript",
    {"operator": 50.0, "call": 30.0, "lowering": 6.0, "release": 2.0, "load": 8.0},
    # Nothing is promised of strides.
    frozenset((*_OF_GRADIENTS, "other error", "stale weights", "requires_grad lost", "constant off", "other strides")),
    # What calls an operator or compiled code puts grad mode right.
    {"grad mode left": ("lowering", "load", "release")},
    _KEEPS_COPIES,
    # A model is lowered without inputs.
    dict.fromkeys(("dtype", "rank", "operands"), ("operator", "call", "load", "release")),
)
DYNAMO = Dialect(
    "dynamo",
    {"operator": 50.0, "call": 30.0, "lowering": 6.0, "release": 2.0, "backward": 12.0},
    frozenset(("weights off", "weights rounded")),
    {},
    # Dynamo itself returns inputs, and one output twice, past the graph.
    frozenset((("origin", "loaded"), ("origin", "copied"), ("outputs", "an input"), ("outputs", "one twice"))),
    {},
)
