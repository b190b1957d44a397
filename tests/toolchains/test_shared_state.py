"""Whatever code may leave for everybody in its process is seen, and by the name that says what it is."""

from __future__ import annotations

import json
import platform
import subprocess
import sys

#: What each change of a process is called.
CHANGES = {
    "locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')": ["the locale for LC_NUMERIC"],
    "os.environ['TZ'] = 'UTC-3'; time.tzset()": ["the time zone", "the variable TZ"],
    "warnings.simplefilter('ignore')": ["filters of all warnings"],
    "warnings.filterwarnings('ignore', message='of its own')": [],
    "warnings.filterwarnings('ignore', category=torch.jit.TracerWarning)": [],
    "torch.set_printoptions(precision=8)": ["how tensors are printed"],
    "torch.set_default_device('meta')": ["default device", "modes of __torch_function__"],
    "torch.set_flush_denormal(True)": ["flushing of denormals"],
    "torch.set_autocast_dtype('cpu', torch.float16)": ["dtype of autocast"],
    "torch._C._set_deterministic_algorithms(True, warn_only=True)": [
        "deterministic algorithms",
        "warnings in place of errors",
    ],
    "os.dup2(os.open(os.devnull, os.O_WRONLY), 2)": ["where output goes"],
    "os.close(1)": ["where output goes"],
    "os.nice(1)": ["priority"],
    "os.chdir('/')": ["the working directory"],
    "random.random()": ["Python's random state"],
    "sys.setrecursionlimit(5000)": ["the recursion limit"],
    "gc.disable()": ["the garbage collector"],
    "gc.set_threshold(7)": ["the garbage collector"],
    "logging.basicConfig(level=logging.DEBUG)": ["handlers of logging", "the level of logging"],
    "logging.disable()": ["the level of logging"],
    "sys.setswitchinterval(1)": ["how long threads may go on"],
    "numpy.random.seed(0)": ["NumPy's random state"],
    "torch.rand(3)": [],
    "pass": [],
}
if sys.platform == "linux":  # which tells what Python does not know of, as code in other languages leaves it
    CHANGES |= {
        "signal.signal(signal.SIGUSR1, print)": ["handlers of signals", "signals that are handled"],
        "ctypes.CDLL(None).signal(signal.SIGTERM, 1)": ["signals that are ignored"],
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})": ["signals that are blocked"],
    }
if upward := {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine()):
    CHANGES[f"ctypes.CDLL(None).fesetround({upward})"] = ["the rounding of floats"]
#: Each change in a fork of a process, which writes what it finds to a pipe.
SCRIPT = """
import ctypes, gc, json, locale, logging, os, random, signal, sys, time, warnings
import numpy, torch
from conformance.toolchains.shared_state import shared_state

found = {}
for change in json.load(sys.stdin):
    reading, writing = os.pipe()
    if not os.fork():
        before = shared_state()
        exec(change)
        after = shared_state()
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        os.write(writing, json.dumps(changed).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        found[change] = json.load(answer)
    os.wait()
print(json.dumps(found))
"""


def test_each_change_is_seen_by_its_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=json.dumps(list(CHANGES)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == CHANGES
