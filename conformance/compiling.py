"""C++ that is compiled once for the PyTorch that is installed, for plugins that bring sources."""

from __future__ import annotations

from conformance._util.compiling import *  # noqa: F403
