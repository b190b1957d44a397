"""Where releases before 0.2 had what is in :mod:`conformance.api.verdicts`; kept for what was written for them."""

from __future__ import annotations

from conformance.api.verdicts import *  # noqa: F403
