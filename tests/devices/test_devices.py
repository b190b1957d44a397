"""Devices from close by: what a process sends, says and leaves behind, without a run around it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.misbehaving import KIND, device, misbehaving_pool
from support.project import is_there, wait_until

from conformance.api.errors import DeviceDied, DeviceGarbled, DeviceTimeout
from conformance.devices import Limits, ZygotePool
from conformance.devices._framing import unframe


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZygotePool]:
    with misbehaving_pool(tmp_path_factory.mktemp("site")) as pool:
        yield pool


#: Bytes with which execnet's unserializer ends otherwise than by its own error.
DAMAGED = {
    "cut short": b"\x02N\x00\x00",
    "a text that is too short": b"\x02N\x00\x00\x00\x09a",
    "an end that is missing": b"\x02L",
    "a key that is no key": b"\x02JJJPQ",
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_damaged_bytes_are_one_kind_of_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="no message"):
        unframe(bytearray(len(data).to_bytes(8) + data))


def test_a_length_that_no_answer_has_is_refused_before_anything_is_kept() -> None:
    with pytest.raises(ValueError, match="a message of 2147483648 bytes"):
        unframe(bytearray((2**31).to_bytes(8)))


def test_a_device_that_sends_damaged_bytes_is_garbled(pool: ZygotePool) -> None:
    child = device(pool, "os.write(connection(), struct.pack('!Q', 2) + b'\\x02L')")
    with pytest.raises(DeviceGarbled, match="no message: EOFError"):
        child.call("register", {}, "register")
    child.end()


def test_a_device_that_never_stops_sending_is_timed_out(pool: ZygotePool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever pytest looks, something has arrived, as from a process that sends faster than pytest reads."""
    sending = """
os.write(connection(), struct.pack("!Q", 1 << 28))
while True:
    os.write(connection(), bytes(1000))
    time.sleep(0.01)
"""
    child = device(pool, sending)
    drain, patience = child._drain, time.monotonic() + 20

    def always() -> bool:
        assert time.monotonic() < patience, "nobody looks at the clock"
        drain()
        return True

    monkeypatch.setattr(child, "_drain", always)
    with pytest.raises(DeviceTimeout):
        child.call("register", {}, "register", seconds=0.1)
    child.end()


@pytest.mark.parametrize("wanting", [0.5, 4.0])
def test_where_much_wants_to_run_a_verb_has_more_time(
    pool: ZygotePool, wanting: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (wanting * (os.cpu_count() or 1), 0.0, 0.0))
    child = device(pool, "time.sleep(2)")
    with contextlib.nullcontext() if wanting > 1 else pytest.raises(DeviceTimeout):
        child.call("register", {}, "register", seconds=1)
    child.end()


def test_who_dies_in_the_time_that_is_added_has_died(pool: ZygotePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (4.0 * (os.cpu_count() or 1), 0.0, 0.0))
    child = device(pool, "time.sleep(1.2); os.close(connection()); time.sleep(0.5); os._exit(3)")
    with pytest.raises(DeviceDied):
        child.call("register", {}, "register", seconds=1)
    child.end()


@pytest.mark.parametrize(
    ("load", "text"),
    [
        ("raise ValueError('not found: ' + os.fsdecode(b'caf\\xe9'))", "not found: caf\\udce9"),
        ("raise Unprintable", "(Unprintable cannot say what it is: KeyError)"),
    ],
    ids=["no-text", "no-words"],
)
def test_an_exception_that_cannot_be_sent_as_it_is_is_still_the_backends(
    pool: ZygotePool, load: str, text: str
) -> None:
    child = device(pool, load)
    reply = child.call("register", {}, "register")
    assert reply.raised is not None
    assert reply.raised["text"] == text
    child.end()


def test_a_warning_that_cannot_be_sent_as_it_is_is_still_sent(pool: ZygotePool) -> None:
    child = device(pool, "warnings.warn('\\udce9')")
    assert child.call("register", {}, "register").warnings == ("UserWarning: \\udce9",)
    child.end()


def test_what_a_device_started_is_ended_with_it_and_with_no_other(pool: ZygotePool, tmp_path: Path) -> None:
    """A daemon, whose parent has ended and which has a session of its own, is its device's all the same."""
    first, second = (device(pool, "daemon()", DAEMON=str(tmp_path / name)) for name in ("first", "second"))
    for child in (first, second):
        assert child.call("register", {}, "register").raised is None
    mine, theirs = (int((tmp_path / name).read_text()) for name in ("first", "second"))
    bystander = device(pool)
    bystander.call("register", {}, "register")
    assert not bystander.leave("exit"), "it left nothing behind: others have, who are at work"
    assert is_there(mine)
    assert first.leave("exit")
    assert not is_there(mine)
    assert is_there(theirs)
    second.end()
    for child in (bystander, first):
        child.end()
    wait_until(lambda: not is_there(theirs))


def test_a_pool_that_is_closed_leaves_nothing_behind(pool: ZygotePool, tmp_path: Path) -> None:
    child = device(pool, "daemon()", DAEMON=str(tmp_path / "daemon"))
    assert child.call("register", {}, "register").raised is None
    daemon = int((tmp_path / "daemon").read_text())
    try:
        child.end()
        pool.close()
        assert not is_there(daemon)
    finally:
        if is_there(daemon):
            os.kill(daemon, signal.SIGKILL)


def test_a_notice_that_was_lost_holds_up_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.devices._child._LOST_NOTICE_SECONDS", 0.2)
    own = ZygotePool(Limits())
    child = own.fork(KIND, None, {})
    child.call("register", {}, "register")
    pid = child._zygote._pids.pop(child._ticket)  # as Ctrl-C does that comes while notices are read
    before = time.monotonic()
    child.end()
    assert time.monotonic() - before < 20
    own.close()
    wait_until(lambda: not is_there(pid))
