"""What all code of a process and of a thread shares, and a backend leaves as it found it: as texts by name."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import locale
import logging
import os
import random
import signal
import sys
import time
import warnings

import torch

#: What compilers take more of for themselves, at which nobody's results change.
RECURSION_LIMIT = "the recursion limit"
#: What is told by a number that stands for it in one process alone.
PYTHONS_RANDOM_STATE = "Python's random state"
NUMPYS_RANDOM_STATE = "NumPy's random state"
#: What precedes the name of a variable of the environment.
VARIABLE = "the variable "

_LEAST = sys.float_info.min
_LOCALES = [name for name in dir(locale) if name.startswith("LC_") and name != "LC_ALL"]
#: Every signal with a name, and the bit for it in a mask.
_SIGNALS = {each.name: each for each in signal.Signals}
_BITS = {name: 1 << (each - 1) for name, each in _SIGNALS.items()}
#: What programs handle, be it without Python. Signals of crashes are not among them: libraries tell of these.
_OF_PROGRAMS = ("SIGHUP", "SIGINT", "SIGTERM", "SIGCHLD", "SIGALRM", "SIGPIPE", "SIGUSR1", "SIGUSR2")


def modes() -> dict[str, str]:
    """The modes and defaults of PyTorch in this thread and process. Cheap: it may be asked around each call."""
    state = {
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly mode": torch.is_anomaly_enabled(),
        "multithreading of autograd": torch._C._is_multithreading_enabled(),
        "forward AD": torch._C._is_fwd_grad_enabled(),
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "dtype of autocast": torch.get_autocast_dtype("cpu"),
        "cache of autocast": torch.is_autocast_cache_enabled(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "warnings in place of errors": torch.is_deterministic_algorithms_warn_only_enabled(),
        "filling of fresh memory": torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "threads of PyTorch": torch.get_num_threads(),
        "threads between operators": torch.get_num_interop_threads(),
        "modes of __torch_function__": torch._C._len_torch_function_stack(),
        "modes of __torch_dispatch__": torch._C._len_torch_dispatch_stack(),
        "oneDNN": torch.backends.mkldnn.enabled,
        "engine for quantised operators": torch.backends.quantized.engine,
        # Of all floats in this thread: PyTorch sets the same register. No tensor is made, which modes might forbid.
        "flushing of denormals": _LEAST / 2 == 0.0,
    }
    return {name: str(value) for name, value in state.items()}


def shared_state() -> dict[str, str]:
    """Everything that code of this thread and process shares, but what PyTorch draws next, which models may change;
    by digests where it may be private."""
    state = {
        PYTHONS_RANDOM_STATE: hash(random.getstate()),
        **{f"{VARIABLE}{name}": _digest(value) for name, value in os.environ.items()},
        "the working directory": _digest(os.getcwd()),
        RECURSION_LIMIT: sys.getrecursionlimit(),
        "the garbage collector": (gc.isenabled(), gc.get_threshold()),
        "sys.excepthook": _name_of(sys.excepthook),
        "sys.displayhook": _name_of(sys.displayhook),
        "the level of logging": (logging.getLogger().level, logging.root.manager.disable),
        "handlers of logging": [type(each).__qualname__ for each in logging.getLogger().handlers],
        "how long threads may go on": sys.getswitchinterval(),
        **_of_numpy(),
        "how tensors are printed": torch._tensor_str.PRINT_OPTS,
        "filters of all warnings": _filters(),
        **{f"the locale for {name}": locale.setlocale(getattr(locale, name)) for name in _LOCALES},
        "the time zone": (time.tzname, time.timezone),
        "the rounding of floats": _rounding(),
        "where output goes": [_goes_to(descriptor) for descriptor in (1, 2)],
        **_of_the_system(),
    }
    return modes() | {name: str(value) for name, value in state.items()}


def random_state() -> dict[str, str]:
    """From where PyTorch's random numbers go on, as a digest."""
    return {"torch's random state": hashlib.sha256(bytes(torch.get_rng_state().tolist())).hexdigest()[:16]}


def _of_numpy() -> dict[str, object]:
    """The random state of NumPy where something has imported it, which no model draws from."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "random"):
        return {}
    kind, keys, *rest = numpy.random.get_state()
    return {NUMPYS_RANDOM_STATE: hash((kind, keys.tobytes(), *rest))}


@functools.lru_cache(maxsize=1024)
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _name_of(value: object) -> str:
    if isinstance(value, signal.Handlers):
        return value.name
    return getattr(value, "__qualname__", "another object")


def _filters() -> list[str]:
    """What is done with whole kinds of Python's warnings, of whatever text and module; filters for some are their
    maker's own."""
    return [
        f"{action} {category.__name__}"
        for action, message, category, module, line in warnings.filters
        if isinstance(category, type) and category.__module__ == "builtins" and not (message or module or line)
    ]


def _rounding() -> str:
    """How the processor rounds in this thread."""
    one = 1.0
    return f"1 and a trace is {one + _LEAST!r}, 1 without it {one - _LEAST!r}, and -1 without it {-one - _LEAST!r}"


def _goes_to(descriptor: int) -> str:
    try:
        place = os.fstat(descriptor)
    except OSError:
        return "nowhere"
    return f"{place.st_dev}:{place.st_ino}"


def _of_the_system() -> dict[str, object]:
    """What the operating system has for the thread and the process, as far as this one tells it."""
    handlers = {name: signal.getsignal(each) for name, each in _SIGNALS.items()}
    state: dict[str, object] = {
        "handlers of signals": {name: _name_of(each) for name, each in handlers.items() if each is not signal.SIG_DFL}
    }
    with contextlib.suppress(OSError):  # Linux alone has it
        with open("/proc/thread-self/status", encoding="utf-8") as lines:
            masks = dict(line.split(":\t", 1) for line in lines if line.startswith("Sig"))
        for field, what in (("SigBlk", "blocked"), ("SigIgn", "ignored"), ("SigCgt", "handled")):
            mask = int(masks[field], 16)
            state[f"signals that are {what}"] = [name for name in _OF_PROGRAMS if mask & _BITS[name]]
    if hasattr(os, "sched_getaffinity"):
        state["processors of this thread"] = sorted(os.sched_getaffinity(0))
    if hasattr(os, "getpriority"):
        state["priority"] = os.getpriority(os.PRIO_PROCESS, 0)
    return state
