"""Where releases before 0.2 had what is in :mod:`conformance.api.features`; kept for what was written for them."""

from __future__ import annotations

from conformance.api.features import *  # noqa: F403
