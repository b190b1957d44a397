"""Where releases before 0.2 had what an author of a backend imports; kept for what was written for them."""

from __future__ import annotations

from conformance import DynamoBackend as DynamoBackend
from conformance import TorchScriptBackend as TorchScriptBackend
from conformance.api.backend import *  # noqa: F403
