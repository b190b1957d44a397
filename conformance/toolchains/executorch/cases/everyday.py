"""The models that other toolchains have, too."""

from __future__ import annotations

from conformance.models import register_models

#: ExecuTorch's own kernels are wrong for parts of these: models of these names ask for the rest, where there are any.
_WRONG = ("long_masks", "normalised_pressures", "quieter", "smallest_first")
#: It has no kernels for operators of these.
_WITHOUT_KERNELS = (
    "added_products",
    "bags_of_words",
    "best_of_messages",
    "bit_fields",
    "cut_borders",
    "forward_variables",
    "histograms",
    "joined_columns",
    "largest_of_regions",
    "moving_pictures",
    "rankings",
    "rounded_prices",
)

register_models("executorch", without=(*_WRONG, *_WITHOUT_KERNELS))
