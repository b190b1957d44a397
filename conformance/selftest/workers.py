"""The worker processes of a self-test, and what becomes of them and of their tasks when it ends early."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any


@contextlib.contextmanager
def worker_pool(
    workers: int, start: Callable[..., None], *arguments: Any, ended: Callable[[str], None]
) -> Iterator[ProcessPoolExecutor]:
    """Processes side by side, each begun with ``start(*arguments)``, for the tasks of a block.

    An exception ends the processes, with the tasks that they are at. An interruption, or the end of a worker process,
    goes no further than the block: ``ended`` gets why it was.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=start, initargs=arguments) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()  # what it is at may take minutes
            if not isinstance(error, KeyboardInterrupt | BrokenProcessPool):
                raise
            ended("interrupted" if isinstance(error, KeyboardInterrupt) else "a worker process was killed")
