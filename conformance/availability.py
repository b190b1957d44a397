"""Where releases before 0.2 had what is in :mod:`conformance.api.availability`; kept for what was written for them."""

from __future__ import annotations

from conformance.api.availability import *  # noqa: F403
