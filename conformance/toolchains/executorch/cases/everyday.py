"""The models that other toolchains have, too."""

from __future__ import annotations

from conformance.models import register_models

# ExecuTorch's own kernels are wrong for parts of these: models of these names ask for the rest.
register_models("executorch", registered_by=__name__, without=("long_masks", "quieter", "smallest_first"))
