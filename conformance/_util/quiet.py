"""What torch says about itself and no user of the harness needs to read."""

from __future__ import annotations

import warnings

#: torch says so on import wherever NumPy is not installed; the harness does not need it.
NUMPY_IS_MISSING = "Failed to initialize NumPy"


def ignore_missing_numpy() -> None:
    """Called before torch is imported, in each process that the harness starts or is run as."""
    warnings.filterwarnings("ignore", message=NUMPY_IS_MISSING)
