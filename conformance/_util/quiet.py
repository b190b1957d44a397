"""What torch says about itself and no user of the harness needs to read, and how Python has to be started."""

from __future__ import annotations

import os
import sys
import warnings

#: Why Python must not leave out what the harness is made of.
OPTIMIZED = (
    "Python runs optimized (-O, or PYTHONOPTIMIZE): it leaves out assertions, and the docstrings that are the "
    "statements of clauses; run it without"
)

#: torch says so on import wherever NumPy is not installed; the harness does not need it.
NUMPY_IS_MISSING = "Failed to initialize NumPy"


def ignore_missing_numpy() -> None:
    """Called before torch is imported, in each process that the harness starts or is run as."""
    warnings.filterwarnings("ignore", message=NUMPY_IS_MISSING)


def is_optimized() -> bool:
    """Whether this Python leaves out assertions, and perhaps docstrings."""
    return sys.flags.optimize > 0


def open_streams() -> None:
    """Give a process that was started with closed streams some that lead nowhere: pytest ends without them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
