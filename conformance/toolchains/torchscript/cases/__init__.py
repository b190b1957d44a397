"""The corpus of TorchScript: the models that its clauses are tried on, smallest first."""

from __future__ import annotations

import functools

from conformance.api.case import register_case

case = functools.partial(register_case, toolchain="torchscript")
