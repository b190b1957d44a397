"""Memory in huge pages, for processes that are forked from again and again."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

#: The size of a huge page, in bytes, where the system says nothing else.
_USUAL_BYTES = 2 * 2**20
_SIZE = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
#: Of Linux 6.1 and later; others refuse it.
_MADV_COLLAPSE = 25


def collapse_memory() -> Iterator[None]:
    """Let Linux put what this process has in memory into huge pages, where it can: one at each step (2 ms).

    A fork copies a table with an entry for each page, and its end takes each entry back: 9 ms for a process that has
    imported torch, and 3 ms where its pages are huge. What a fork writes to is copied in ordinary pages.
    """
    size = int(_SIZE.read_text()) if _SIZE.exists() else _USUAL_BYTES
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for first, end in _own_memory():
        for address in range(-(-first // size) * size, end - size + 1, size):
            madvise(address, size, _MADV_COLLAPSE)
            yield


def _own_memory() -> list[tuple[int, int]]:
    """The first and the next address of each range of memory that is of no file and can be written to."""
    found = []
    for line in Path(f"/proc/{os.getpid()}/maps").read_text().splitlines():
        addresses, rights, _, _, _, *name = line.split()
        if rights == "rw-p" and name in ([], ["[heap]"]):
            first, end = addresses.split("-")
            found.append((int(first, 16), int(end, 16)))
    return found
