"""One folder for all that a process of the harness has where temporary files go, and an end to what dead ones left.

A process that is killed removes nothing. So it holds a lock on its folder, which goes with it however it ends: whoever
makes the next folder there, or is done with its own, removes those that nobody holds. A lock is the kernel's, so that a
process that is not to be seen from here (in another container, with the same temporary folder) holds its own as well.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

#: How the folders are called. No other release of the harness made any of this name without a lock.
PREFIX = "conformance-run-"


@dataclasses.dataclass(frozen=True, slots=True)
class _Held:
    """A folder with a lock on it, by the process that made it."""

    path: Path
    descriptor: int
    process: int


#: That of this process, by the folder for temporary files in which it lies.
_held: dict[str, _Held] = {}


def private_folder(kind: str) -> tempfile.TemporaryDirectory[str]:
    """A folder for one thing, such as a device, in that of this process; it is removed with what it is for."""
    return tempfile.TemporaryDirectory(prefix=f"{kind}-", dir=_run_folder(), ignore_cleanup_errors=True)


def release_run_folder() -> None:
    """Remove the folder of this process, where nothing is in it any more; and those beside it that nobody holds, such
    as of workers that were killed."""
    for place, held in list(_held.items()):
        with contextlib.suppress(OSError):
            if held.process == os.getpid():
                os.rmdir(held.path)
                os.close(_held.pop(place).descriptor)
        sweep(Path(place))


def sweep(place: Path) -> list[Path]:
    """Remove the folders in ``place`` that are ours and that no process holds; returns them."""
    removed = []
    for path in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if os.fstat(descriptor).st_uid == os.getuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
                    removed.append(path)
            finally:
                os.close(descriptor)
    return removed


def _run_folder() -> Path:
    place = tempfile.gettempdir()
    held = _held.get(place)
    if held is None or held.process != os.getpid() or not held.path.is_dir():
        sweep(Path(place))
        held = _held[place] = _made(place)
    return held.path


def _made(place: str) -> _Held:
    """A new folder, held. One that another process takes for a dead one's, before it is held, is left to that."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                return _Held(path, descriptor, os.getpid())
        os.close(descriptor)
