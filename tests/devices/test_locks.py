"""Locks that forks of one process share: a device that ends while it holds one must not be waited for by the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.api.errors import DeviceEnded
from conformance.devices import Device, DeviceKind, Ledger, Limits, ZygoteKind, ZygotePool

KIND = DeviceKind("none", "any", "locking:open_session", ZygoteKind("none", preload="locking"), is_guarded=False)
#: A zygote that has used tqdm, as torch.fx does where something is lowered ahead; it makes the lock when first used.
LOCKING = """
import os
import tqdm

def warm_up():
    list(tqdm.tqdm(range(2), disable=True))
    yield

class Session:
    def call(self, verb, arguments):
        if verb == "die":
            tqdm.tqdm.get_lock().acquire()
            os._exit(9)
        return list(tqdm.tqdm(range(2), disable=True))

def open_session(subject):
    return Session()
"""


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZygotePool]:
    (tmp_path / "locking.py").write_text(LOCKING)
    monkeypatch.syspath_prepend(tmp_path)
    pool = ZygotePool(Limits(seconds=10))
    yield pool
    pool.close()


def asked(pool: ZygotePool, verb: str) -> object:
    device = Device("any", lambda: pool.fork(KIND, None, {}), Ledger())
    try:
        return device.call(verb)
    finally:
        device.end()


def test_nobody_waits_for_a_lock_of_a_device_that_has_ended(pool: ZygotePool) -> None:
    with pytest.raises(DeviceEnded):
        asked(pool, "die")
    for _ in range(2):
        assert asked(pool, "count") == [0, 1]
