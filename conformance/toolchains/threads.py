"""Work in fresh threads that begin together, and what the threads found."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from conformance.compare.values import encode
from conformance.devices.protocol import text_of

#: The interval, in seconds, at which Python's threads take turns, in place of five milliseconds: more races show.
_SWITCH_INTERVAL = 1e-6


def modes_here() -> dict[str, bool]:
    """The grad mode and the inference mode of this thread."""
    return {"grad mode": torch.is_grad_enabled(), "inference mode": torch.is_inference_mode_enabled()}


class Findings:
    """The results, modes and errors of several threads, each distinct one once."""

    def __init__(self, calls: int) -> None:
        self._lock = threading.Lock()
        self._results: list[dict[bytes, None]] = [{} for _ in range(calls)]
        self._modes: list[dict[str, bool]] = []
        self._errors: dict[str, None] = {}

    @property
    def errors(self) -> list[str]:
        """What was raised, each text once."""
        return list(self._errors)

    def note(self, call: int, result: Any) -> None:
        """Note the result of the call with that number."""
        encoded = encode(result)  # outside of the lock, at which the threads would wait for each other
        with self._lock:
            self._results[call][encoded] = None

    def note_modes(self) -> None:
        """Note the modes of the thread that calls this."""
        with self._lock:
            if modes_here() not in self._modes:
                self._modes.append(modes_here())

    def note_error(self, error: BaseException) -> None:
        """Note an exception by its type and text."""
        text = text_of(error)  # outside of the lock: it is asked of who wrote it
        with self._lock:
            self._errors[f"{type(error).__name__}: {text}"] = None

    def as_message(self) -> dict[str, Any]:
        """Everything that was noted, as a verb answers it."""
        return {
            "results": [list(results) for results in self._results],
            "modes": self._modes,
            "errors": list(self._errors),
        }


def work_at_once(work: Callable[[int], None], count: int, found: Findings) -> None:
    """Run ``work`` in ``count`` fresh threads that begin together, and wait for them.

    ``work`` gets the number of its thread; whatever it raises is noted, SystemExit too.
    """
    together = threading.Barrier(count)

    def run(index: int) -> None:
        together.wait()
        found.note_modes()
        try:
            work(index)
        except BaseException as error:  # the edge of the thread: what leaves it, nobody hears of
            found.note_error(error)
        found.note_modes()

    workers = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
