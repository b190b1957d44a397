"""The models that other toolchains have, too."""

from __future__ import annotations

from conformance.models import register_models

register_models("torchscript")
