"""The garbage collector, and what it need not look at."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def lasting_objects() -> Iterator[None]:
    """Take all that there is behind the block for objects that last as long as the process.

    The collector looks at none of them again: not while the block imports, not at the end of the process, where torch's
    objects cost pytest a second, and not in children, where looking at them copies their pages.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
