"""Where releases before 0.2 had what is in :mod:`conformance.api.backend`; kept for what was written for them."""

from __future__ import annotations

from conformance.api.backend import *  # noqa: F403
