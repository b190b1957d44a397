"""The models that other toolchains have, too."""

from __future__ import annotations

from conformance.api import features as f
from conformance.models import register_models

# Dynamo inlines modules.
register_models("dynamo", unseen=(f.submodules,))
