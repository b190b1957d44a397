"""Where releases before 0.2 had cases; kept for what was written for them. See :mod:`conformance.api.case`."""

from __future__ import annotations

import functools

from conformance.api.case import Call, Case, Samples
from conformance.api.case import register_case as _register_case
from conformance.api.maker import Maker
from conformance.toolchains import case_named as _case_named
from conformance.toolchains import corpus, default_toolchain

__all__ = ["Call", "Case", "Maker", "Samples", "case_named", "corpus", "register_case"]

register_case = functools.partial(_register_case, toolchain=default_toolchain().name)
case_named = functools.partial(_case_named, toolchain=default_toolchain().name)
