"""What a zygote does ahead of its devices: some before the first of them, the rest while none is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.project import wait_until

from conformance.devices import Device, DeviceKind, Ledger, Limits, ZygoteKind, ZygotePool

KIND = DeviceKind("none", "any", "warming:open_session", ZygoteKind("none", preload="warming"), is_guarded=False)
WARMING = """
done = []

def warm_up():
    done.append("ahead")
    yield
    done.append("first step")
    yield
    done.append("second step")
    yield
    raise RuntimeError("a model that cannot be scripted")

def touch_memory():
    done.append("touched")

class Session:
    def call(self, verb, arguments):
        return done

def open_session(subject):
    return Session()
"""


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZygotePool]:
    (tmp_path / "warming.py").write_text(WARMING)
    monkeypatch.syspath_prepend(tmp_path)
    pool = ZygotePool(Limits())
    yield pool
    pool.close()


def done_before_a_device(pool: ZygotePool) -> list[str]:
    device = Device("any", lambda: pool.fork(KIND, None, {}), Ledger())
    try:
        done: list[str] = device.call("tell")
    finally:
        device.end()
    return done


def test_the_first_device_waits_for_no_step_and_later_ones_have_what_the_steps_did(pool: ZygotePool) -> None:
    assert done_before_a_device(pool) == ["ahead", "touched"]
    wait_until(lambda: done_before_a_device(pool) == ["ahead", "first step", "second step", "touched"])


def test_a_step_that_fails_ends_no_device_and_no_zygote(pool: ZygotePool) -> None:
    wait_until(lambda: "second step" in done_before_a_device(pool))
    zygote = pool.start(KIND.zygote)
    for _ in range(3):
        assert done_before_a_device(pool)[-1] == "touched"
    assert pool.start(KIND.zygote) is zygote
