"""The part of all scripts that runs in the processes of the steps: a step, its values, and the report of it.

Copied into the ``support.py`` of every reproducer, definition by definition, with what of the harness it needs. The
names in :data:`PROVIDED` are that reproducer's own; here they only have types.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import torch

from conformance._util.processes import dump_stacks, limit_process, tail
from conformance.api.trained import as_trained
from conformance.compare.values import encode
from conformance.devices.protocol import describe_exception
from conformance.standalone.supervisor import AT_ITS_END

# What each reproducer has of its own.

NAME: str = ""
BACKEND: str = ""
AUTHOR: str = ""
LIBRARIES: tuple[str, ...] = ()
DISTRIBUTION: str = ""
TORCH: str = ""
SECONDS: float = 0.0
MEMORY: int = 0
PLUGIN: str = ""
ENVIRONMENT: dict[str, dict[str, str | None]] = {}
PROVIDED = frozenset({*__annotations__, "PROVIDED"})


class CannotTry(Exception):
    """The script lacks something; the text says what, and how to give it."""


class step:
    """A block that is one step. The watching process learns when it begins, and how it ended.

    ``fails`` marks a step that raised when the failure was recorded, after which the others went on.
    """

    def __init__(self, number: int, phase: str, fails: bool = False) -> None:
        self.number = number
        self.phase = phase
        self.fails = fails

    def __enter__(self) -> step:
        self._answers = 0
        self._start = _size_of_output()
        self._report()
        return self

    def answer(self, value: Any) -> None:
        """Let the watching process have a value, as it is now."""
        (FOLDER / f"answer-{self.number}-{self._answers}.pt").write_bytes(encode(value))
        self._answers += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool:
        stderr = _output_since(self._start)
        if error is None:
            self._report(returned=True, stderr=stderr)
            return False
        self._report(raised=describe_exception(error), fails=self.fails, stderr=stderr)
        if not self.fails:
            traceback.print_exception(error)
            _flush()
            os._exit(0)
        return True

    def _report(self, **fields: Any) -> None:
        if REPORT is not None:
            line = {"number": self.number, "phase": self.phase, **fields, "pid": os.getpid()}
            REPORT.write((json.dumps(line) + "\n").encode())


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


def _size_of_output() -> int:
    _flush()
    with contextlib.suppress(OSError):
        return os.fstat(2).st_size
    return 0


def _output_since(start: int) -> str:
    """What was written to stderr since then; nothing where that is no file."""
    _flush()
    with contextlib.suppress(OSError), open("/dev/fd/2", "rb") as file:
        return tail(file, start)
    return ""


def given(name: str) -> Any:
    """A fresh copy of one of the values in inputs.pt."""
    return torch.load(Path(__file__).with_name("inputs.pt"), weights_only=True)[name]


def store(name: str, data: bytes) -> None:
    """Keep an artifact that was saved just now."""
    (FOLDER / name).write_bytes(data)


def fetch(name: str) -> bytes:
    """An artifact: the one that was saved just now, or else the recorded one, which lies beside this script."""
    fresh = FOLDER / name
    return (fresh if fresh.exists() else Path(__file__).with_name(name)).read_bytes()


def path_of(name: str) -> str:
    """A file that holds an artifact, as :func:`fetch` finds it."""
    path = FOLDER / f"file-{name}"
    path.write_bytes(fetch(name))
    return str(path)


def build(module_class: Any, seed: int) -> Any:
    """A model in evaluation mode, its weights from a seed."""
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        return as_trained(module_class()).eval()
    finally:
        torch.set_rng_state(state)


def author() -> Any:
    """An instance of the author's class for the conformance harness."""
    global _AUTHOR
    if _AUTHOR is None:
        _AUTHOR = instance_of(AUTHOR)
        _AUTHOR.name = _AUTHOR.name or BACKEND
    return _AUTHOR


def instance_of(plugin: str) -> Any:
    """What an entry point's value, ``module:class``, names; an instance where that is a class."""
    module, _, name = plugin.partition(":")
    target: Any = importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return target() if isinstance(target, type) else target


_AUTHOR: Any = None
#: Where artifacts and answers are kept while the steps run.
FOLDER = Path()
#: What the watching process reads, if there is one.
REPORT: IO[bytes] | None = None


def files_of(label: str, folder: str) -> list[Path]:
    """Where a process that is watched writes: stdout, stderr, its stack, and what its steps came to."""
    return [Path(folder, f"{label}.{what}") for what in ("stdout", "stderr", "stack", "steps")]


def run_steps(label: str, steps: Callable[[], None], folder: str) -> None:
    """Be one of the processes: take its steps, then end without ado, unless ending is one of the steps."""
    global FOLDER, REPORT
    FOLDER = Path(folder)
    *_, stack, report = files_of(label, folder)
    if report.exists():
        REPORT = open(report, "ab", buffering=0)
        dump_stacks(os.open(stack, os.O_WRONLY | os.O_APPEND))
    limit_process(MEMORY)
    torch.set_num_threads(1)
    steps()
    _flush()
    os._exit(0)


def leave() -> None:
    """End the process as a script ends: what is registered for exit runs, and the interpreter is finalised."""
    sys.exit(AT_ITS_END)
