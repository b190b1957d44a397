"""What torch says about itself and no user of the harness needs to read, and how Python has to be started."""

from __future__ import annotations

import os
import resource
import sys
import warnings

#: Why Python must not leave out what the harness is made of.
OPTIMIZED = (
    "Python runs optimized (-O, or PYTHONOPTIMIZE): it leaves out assertions, and the docstrings that are the "
    "statements of clauses; run it without"
)

#: So many files and connections a run has open at once at most, with what pytest and Python have.
LEAST_OPEN_FILES = 64

#: torch says so on import wherever NumPy is not installed; the harness does not need it.
NUMPY_IS_MISSING = "Failed to initialize NumPy"


def ignore_missing_numpy() -> None:
    """Called before torch is imported, in each process that the harness starts or is run as."""
    warnings.filterwarnings("ignore", message=NUMPY_IS_MISSING)


def is_optimized() -> bool:
    """Whether this Python leaves out assertions, and perhaps docstrings."""
    return sys.flags.optimize > 0


def too_few_open_files() -> str:
    """Why a run cannot be had under the limit of open files, in a sentence; empty where it can. A lower limit that may
    be raised is raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= LEAST_OPEN_FILES:
        return ""
    if hard == resource.RLIM_INFINITY or hard >= LEAST_OPEN_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (LEAST_OPEN_FILES, hard))
        return ""
    return (
        f"expected at least {LEAST_OPEN_FILES} open files for a process, found a limit of {hard}: raise it "
        f"(`ulimit -n {LEAST_OPEN_FILES}` or more, in the shell or wherever the run is started)"
    )


def open_streams() -> None:
    """Give a process that was started with closed streams some that lead nowhere: pytest ends without them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
