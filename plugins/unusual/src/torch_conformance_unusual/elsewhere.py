"""Running something in another thread, or in another process, and as if on the caller's."""

from __future__ import annotations

import io
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def in_a_thread(work: Callable[[], Any]) -> Any:
    """What ``work`` gives in a thread of its own, which ends with it, in the caller's modes.

    Raises what ``work`` raises.
    """
    grad, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        enabled, dtype, cached = autocast
        try:
            with (
                torch.inference_mode(inference),
                torch.set_grad_enabled(grad),
                torch.autocast("cpu", dtype, enabled, cached),
            ):
                results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def in_a_process(work: Callable[[], Any]) -> Any:
    """What ``work`` gives in a process that is forked for it; tensors come back by value, with their strides.

    The caller's random generator goes on where the process has left it. Raises what ``work`` raises, or a RuntimeError
    of the same text where that cannot be sent; RuntimeError where the process ends without an answer.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            torch.set_num_threads(1)  # the other threads of a pool did not come along
            with os.fdopen(writing, "wb") as stream:
                stream.write(_answer(work))
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        raise RuntimeError(f"the worker ended without an answer, with status {os.waitstatus_to_exitcode(status)}")
    with torch.inference_mode(False):
        error, result, random_state = torch.load(io.BytesIO(answer), weights_only=False)
    if not torch.equal(random_state, torch.get_rng_state()):
        torch.set_rng_state(random_state)
    if error is not None:
        raise pickle.loads(error)
    return result


def _answer(work: Callable[[], Any]) -> bytes:
    try:
        error, result = None, work()
    except Exception as raised:
        error, result = _pickled(raised), None
    buffer = io.BytesIO()
    torch.save((error, result, torch.get_rng_state()), buffer)
    return buffer.getvalue()


def _pickled(error: Exception) -> bytes:
    try:
        written = pickle.dumps(error)
        pickle.loads(written)
    except Exception:  # an exception may hold anything, and be made by anything
        return pickle.dumps(RuntimeError(str(error)))
    return written


def bytes_of(tensor: Tensor) -> Tensor:
    """The bytes of a strided tensor's elements."""
    plain = tensor.detach().resolve_conj().resolve_neg().flatten()
    return plain.clone(memory_format=torch.contiguous_format).view(torch.uint8)  # one element may have any stride
