"""Memory that forks share in huge pages."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

#: Half of a large memory is written to; what is left of it is told after it was collapsed.
PROGRAM = """
import ctypes, pathlib
from conformance._util.huge_pages import collapse_memory

size = 64 * 2**20
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
address = libc.mmap(None, size, 3, 0x22, -1, 0)
ctypes.memset(address, 7, size)
steps = sum(1 for _ in collapse_memory())
assert ctypes.string_at(address, size) == bytes([7]) * size
print(steps)
print(pathlib.Path("/proc/self/smaps_rollup").read_text())
"""


def test_memory_is_collapsed_in_steps_and_stays_what_it_was() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    steps, _, memory = done.stdout.partition("\n")
    assert int(steps) >= 30
    huge = re.search(r"AnonHugePages:\s+(\d+) kB", memory)
    if huge is None or int(huge[1]) == 0:
        pytest.skip("this system has no huge pages that a process can ask for")
    assert int(huge[1]) >= 32 * 1024
