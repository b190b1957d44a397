"""Where releases before 0.2 had what is in :mod:`conformance.compare.comparison`; kept for plugins of then."""

from __future__ import annotations

from conformance.compare.comparison import *  # noqa: F403
