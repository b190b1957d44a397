"""A backend that does whatever a test says while it is loaded, and a pool of devices that have it."""

from __future__ import annotations

import contextlib
import dataclasses
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.devices import Child, Limits, ZygotePool
from conformance.toolchains import Source, default_toolchain

KIND = default_toolchain().device("target")
MISBEHAVING = '''
    """A backend whose load() does what the environment says."""

    import os, stat, struct, time, warnings
    from conformance import TorchScriptBackend

    def connection():
        return next(number for number in range(3, 1000) if stat.S_ISSOCK(os.fstat(number).st_mode))

    def daemon():
        """Start a process in a session of its own, whose parent has ended."""
        if os.fork() == 0:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
            with open(os.environ["DAEMON"] + ".part", "w") as file:
                file.write(str(os.getpid()))
            os.rename(os.environ["DAEMON"] + ".part", os.environ["DAEMON"])
            time.sleep(600)
            os._exit(0)
        os.wait()
        while not os.path.exists(os.environ["DAEMON"]):
            time.sleep(0.01)

    class Unprintable(Exception):
        def __str__(self):
            raise KeyError("nothing")

    class Plugin(TorchScriptBackend):
        name = "misbehaving"

        def load(self):
            exec(os.environ.get("LOAD", ""), globals())
'''


@contextlib.contextmanager
def misbehaving_pool(folder: Path) -> Iterator[ZygotePool]:
    """A pool whose devices can load the backend, from a folder."""
    (folder / "misbehaving.py").write_text(textwrap.dedent(MISBEHAVING))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        pool = ZygotePool(Limits())
        pool.start(KIND.zygote)
        yield pool
        pool.close()


def device(pool: ZygotePool, load: str = "", **environment: str) -> Child:
    """A device whose backend does what ``load`` says when it is loaded."""
    subject = dataclasses.asdict(Source("misbehaving", value="misbehaving:Plugin"))
    return pool.fork(KIND, subject, {"LOAD": load, **environment})
