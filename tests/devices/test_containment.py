"""What a backend does to other processes, to its own answers and to files stays its own."""

from __future__ import annotations

import io
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from support.misbehaving import KIND, device, misbehaving_pool
from support.project import is_there, wait_until

from conformance.api.errors import DeviceGarbled, DeviceOrphaned, DeviceStopped, GarbledValue
from conformance.compare.values import decode
from conformance.devices import ZygotePool
from conformance.devices._framing import unframe
from conformance.toolchains.torchscript.native import MESSAGES


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[ZygotePool]:
    with misbehaving_pool(tmp_path) as pool:
        yield pool


def zygote_of(pool: ZygotePool) -> int:
    """The process from which devices are forked."""
    return pool._zygotes[KIND.zygote]._process.pid


def test_a_device_cannot_get_into_the_group_of_what_started_it(pool: ZygotePool) -> None:
    child = device(pool, "os.setpgid(0, os.getpgid(os.getppid()))")
    raised = child.call("register", {}, "register").raised
    assert raised is not None
    assert raised["type"] == "PermissionError"
    child.end()


def test_a_device_cannot_leave_its_own_group(pool: ZygotePool) -> None:
    child = device(pool, "pid = os.fork()\nif pid == 0:\n    time.sleep(600)\nos.setpgid(pid, pid)\nos.setpgid(0, pid)")
    raised = child.call("register", {}, "register").raised
    assert raised is not None
    assert raised["type"] == "PermissionError"
    child.end()


def test_what_a_device_left_ends_with_what_it_was_forked_from(pool: ZygotePool, tmp_path: Path) -> None:
    """Where that was stopped it cannot see to it itself."""
    note = tmp_path / "daemon"
    child = device(pool, "daemon()", DAEMON=str(note))
    assert child.call("register", {}, "register").raised is None
    daemon = int(note.read_text())
    os.kill(zygote_of(pool), signal.SIGSTOP)
    wait_until(lambda: pool._zygotes[KIND.zygote].stopped)
    child.end()
    assert is_there(daemon)
    pool.close()
    wait_until(lambda: not is_there(daemon))


def test_a_process_that_is_stopped_is_seen_to_be(pool: ZygotePool) -> None:
    child = device(pool, "os.kill(os.getpid(), __import__('signal').SIGSTOP)")
    with pytest.raises(DeviceStopped, match="the process was stopped"):
        child.call("register", {}, "register", seconds=2.0)
    child.end()


@pytest.mark.parametrize("sent", [signal.SIGSTOP, signal.SIGKILL])
def test_what_devices_are_forked_from_is_replaced(pool: ZygotePool, sent: signal.Signals) -> None:
    assert device(pool).call("register", {}, "register").raised is None
    first = zygote_of(pool)
    os.kill(first, sent)
    wait_until(lambda: pool._zygotes[KIND.zygote].stopped or not pool._zygotes[KIND.zygote].alive)
    began = time.monotonic()
    for _ in range(2):  # its next device was forked ahead, or not
        child = device(pool)
        assert child.call("register", {}, "register").raised is None
        child.end()
    assert zygote_of(pool) != first
    assert time.monotonic() - began < 60
    wait_until(lambda: not is_there(first))


def test_a_backend_that_ends_what_it_was_forked_from_is_told_so(pool: ZygotePool) -> None:
    child = device(pool, "os.kill(os.getppid(), 9)\ntime.sleep(600)")
    with pytest.raises(DeviceOrphaned, match="during register the process from which devices are forked ended"):
        child.call("register", {}, "register")
    child.end()


@pytest.mark.parametrize("sent", [signal.SIGSTOP, signal.SIGKILL])
def test_a_device_whose_zygote_was_replaced_is_told_so(pool: ZygotePool, sent: signal.Signals) -> None:
    """It may be asked again: what makes samples lives beside the backends, and as long as a run."""
    asked, unasked = device(pool), device(pool)
    assert asked.call("register", {}, "register").raised is None
    os.kill(zygote_of(pool), sent)
    wait_until(lambda: pool._zygotes[KIND.zygote].stopped or not pool._zygotes[KIND.zygote].alive)
    other = device(pool)
    assert other.call("register", {}, "register").raised is None
    with pytest.raises(DeviceOrphaned, match="during exit the process from which devices are forked was replaced"):
        asked.leave("exit")
    for each in (asked, unasked, other):
        each.end()


def test_temporary_files_go_with_the_device(pool: ZygotePool) -> None:
    child = device(pool, "import tempfile\nraise ValueError(tempfile.mkdtemp())")
    raised = child.call("register", {}, "register").raised
    assert raised is not None
    folder = Path(raised["text"])
    assert folder.is_dir()
    child.end()
    assert not folder.parent.exists()


#: Answers that are none, as a device would write them: what stands in place of the answer to ``register``.
ANSWERS = {
    "no number of seconds": "{'number': 1, 'seconds': float('nan'), 'warnings': [], 'value': None}",
    "less than no memory": "{'number': 1, 'seconds': 1.0, 'warnings': [], 'value': None, 'peak_bytes': -1}",
    "warnings that are no list": "{'number': 1, 'seconds': 1.0, 'warnings': 7, 'value': None}",
    "an exception without a text": "{'number': 1, 'seconds': 1.0, 'warnings': [], 'raised': {'type': 'E'}}",
    "a verb that nobody knows": "{'number': 1, 'seconds': 1.0, 'warnings': [], 'unanswered': 'register'}",
    "a list": "[1]",
    "another request's": "{'number': 2, 'seconds': 1.0, 'warnings': [], 'value': None}",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_none_is_garbled(pool: ZygotePool, answer: str) -> None:
    sending = f"from conformance.devices._framing import frame\nos.write(connection(), frame({answer}))\ntime.sleep(60)"
    child = device(pool, sending)
    with pytest.raises(DeviceGarbled):
        child.call("register", {}, "register")
    child.end()


def test_a_name_in_an_answer_that_no_text_can_be_is_garbled(pool: ZygotePool) -> None:
    """A program without Python answers as ``torch.save`` writes, which carries lone surrogates."""
    sending = "from conformance.devices._framing import frame\n"
    sending += "from conformance.toolchains.torchscript.native import MESSAGES\n"
    sending += "message = {'number': 1, 'seconds': 1.0, 'warnings': [], chr(0xd800): 0}\n"
    child = device(pool, f"{sending}os.write(connection(), frame(message, MESSAGES))\ntime.sleep(60)")
    child.ask("register", {})
    child._codec = MESSAGES
    with pytest.raises(DeviceGarbled, match="surrogates not allowed"):
        child.answer("register")
    child.end()


def test_a_list_takes_no_more_memory_than_its_message() -> None:
    data = b"\x02K" + (2**27).to_bytes(4, "big") + b"Q"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="no message"):
        unframe(bytearray(len(data).to_bytes(8, "big") + data))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(1, dtype=torch.uint8).expand(65536),
        torch.zeros(4, 4, dtype=torch.uint8),
        torch.zeros(8, dtype=torch.uint8)[::2],
        torch.zeros(2),
    ],
    ids=["expanded", "two dimensions", "with steps", "floats"],
)
def test_a_tensor_that_is_no_row_of_bytes_is_not_read(tensor: torch.Tensor) -> None:
    buffer = io.BytesIO()
    torch.save({"value": tensor}, buffer)
    with pytest.raises(ValueError, match="no message"):
        MESSAGES.loads(buffer.getvalue())


def test_a_value_that_cannot_be_read_is_a_failure_of_who_sent_it() -> None:
    with pytest.raises(GarbledValue, match="a value that cannot be read"):
        decode(b"PK\x03\x04 and no more")
    assert issubclass(GarbledValue, AssertionError)
