"""The operator table: which operators and dtypes a backend takes, tried on PyTorch's own OpInfo samples.

``samples`` (in a control's process) makes the samples, ``statistics`` measures errors, ``trial`` tries samples on a
backend, many in one process, and ``table`` turns what they came to into rows. A toolchain brings what is its own, the
programs that are made of samples, as verbs: ``operator_samples`` in the control, ``lower_program``, ``run_program`` and
``forget_program`` in the subject (``verbs.operators`` in the room of a toolchain).
"""

from __future__ import annotations

#: The dtypes of the table, in the order of its columns.
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "complex64")
#: What float64 may differ by in samples that are varied, relative and absolute: far less than float32 rounds by.
OF_DOUBLES = {"float64": (1e-9, 1e-9)}
#: How many samples of an operator are tried in each dtype, unless the run says otherwise.
SAMPLES = 3
#: Seconds that the control has to import PyTorch's samples or to make some, however little a backend has for a verb.
CONTROL_SECONDS = 120.0
