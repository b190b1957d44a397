"""The corpus: the models that clauses are tried on, smallest first.

Importing this package imports torch. A case is data; building its module and its inputs from a seed happens in the
process that needs them, so that nothing can be memorised and no model crosses a process as anything but an artifact.
"""

from __future__ import annotations

from conformance.cases import (  # noqa: F401  (they register)
    arithmetic,
    dtypes,
    dynamo,
    dynamo_state,
    dynamo_training,
    flow,
    memory,
    networks,
    quantized,
    signatures,
)
from conformance.cases._case import Call, Case, Samples, case_named, corpus, register_case
from conformance.cases._samples import Maker

__all__ = ["Call", "Case", "Maker", "Samples", "case_named", "corpus", "register_case"]
