"""Memory that forks share in huge pages."""

from __future__ import annotations

import json
import subprocess
import sys

#: Memory is written to, and collapsed; whether Linux does that where it is asked for one huge page is tried first.
PROGRAM = """
import ctypes, json, pathlib, re
from conformance._util.huge_pages import collapse_memory

def huge():
    found = re.search("AnonHugePages: +([0-9]+) kB", pathlib.Path("/proc/self/smaps_rollup").read_text())
    return int(found[1]) if found else 0

def written(size):
    address = libc.mmap(None, size, 3, 0x22, -1, 0)
    ctypes.memset(address, 7, size)
    return address

size, page = 64 * 2**20, 2 * 2**20
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
is_refused = libc.madvise(-(-written(2 * page) // page) * page, page, 25)
address = written(size)
before = huge()
steps = sum(1 for _ in collapse_memory())
intact = ctypes.string_at(address, size) == bytes([7]) * size
print(json.dumps({"refused": bool(is_refused), "steps": steps, "intact": intact, "more": huge() - before}))
"""


def test_memory_is_collapsed_in_steps_and_stays_what_it_was() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["intact"]
    assert told["steps"] >= 30
    if told["refused"]:
        assert told["more"] == 0, "a system without such pages, of which one was asked for"
    else:
        assert told["more"] >= 32 * 1024
