"""Where releases before 0.2 had :mod:`conformance.toolchains.torchscript.assertions`; kept for plugins of then."""

from __future__ import annotations

from conformance.toolchains.torchscript.assertions import *  # noqa: F403
