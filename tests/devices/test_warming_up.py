"""What a zygote does ahead of its devices: some before the first of them, the rest while none is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.project import wait_until

from conformance.devices import Device, DeviceKind, Ledger, Limits, ZygoteKind, ZygotePool

KIND = DeviceKind("none", "any", "warming:open_session", ZygoteKind("none", preload="warming"), is_guarded=False)
MODELS = dataclasses.replace(KIND, zygote=ZygoteKind("none", preload="warming", makes_models=True))
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

def make_models(seed, cases):
    for name in cases:
        done.append(f"model {name} of seed {seed}")
        yield

def forget_models():
    done[:] = [each for each in done if "model" not in each]

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


def done_before_a_device(pool: ZygotePool, kind: DeviceKind = KIND) -> list[str]:
    device = Device("any", lambda: pool.fork(kind, None, {}), Ledger())
    try:
        done: list[str] = device.call("tell")
    finally:
        device.end()
    return done


def test_the_first_device_waits_for_no_step_and_later_ones_have_what_the_steps_did(pool: ZygotePool) -> None:
    assert done_before_a_device(pool) == ["ahead"]
    wait_until(lambda: done_before_a_device(pool) == ["ahead", "first step", "second step"])


def test_a_step_that_fails_ends_no_device_and_no_zygote(pool: ZygotePool) -> None:
    wait_until(lambda: "second step" in done_before_a_device(pool))
    zygote = pool.start(KIND.zygote)
    for _ in range(3):
        assert done_before_a_device(pool)[-1] == "second step"
    assert pool.start(KIND.zygote) is zygote


@pytest.mark.parametrize("is_started", [False, True])
def test_models_are_made_once_the_seed_of_many_devices_is_known(pool: ZygotePool, is_started: bool) -> None:
    if is_started:
        assert "ahead" in done_before_a_device(pool, MODELS)
    pool.expect_many(7, ["a", "b"])
    made = ["model a of seed 7", "model b of seed 7"]
    wait_until(lambda: done_before_a_device(pool, MODELS)[-2:] == made)
    assert not any("model" in each for each in done_before_a_device(pool, KIND))
    anew = dataclasses.replace(MODELS, has_models=False)
    assert not any("model" in each for each in done_before_a_device(pool, anew))


def test_what_is_said_at_the_same_time_is_heard_one_by_one(pool: ZygotePool) -> None:
    for seed in range(3):
        pool.expect_many(seed, ["a"])
    devices = [Device("any", lambda: pool.fork(MODELS, None, {}), Ledger()) for _ in range(4)]
    for device in devices:
        device.start()
        pool.expect_many(3, ["a"])
    try:
        assert all("ahead" in device.call("tell") for device in devices)
    finally:
        for device in devices:
            device.end()
