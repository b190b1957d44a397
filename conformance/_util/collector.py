"""The garbage collector, and what it need not look at."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def lasting_objects() -> Iterator[None]:
    """Keep the garbage collector off while the block runs, and for good from every object that exists when it ends.

    For blocks that import: what they leave lasts as long as the process. Looking at torch's objects costs pytest a
    second when it ends, and in a forked child it copies their pages.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
