"""Samples are made once, ahead of who asks for them, and what harms the process that makes them harms no cell."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from conformance.api.case import Call
from conformance.api.errors import DeviceBroken, DeviceDied, HarnessError, MachineTooSlow
from conformance.compare.comparison import is_equal
from conformance.devices import Ledger, Limits, ZygotePool
from conformance.run.samples import Samples
from conformance.toolchains import corpus, toolchain_named
from conformance.toolchains.client import CellDevice


@dataclasses.dataclass
class Machine:
    """Makes processes; ``script`` says of each request to any of them whether it dies of it."""

    script: list[bool] = dataclasses.field(default_factory=list)
    death: Exception = dataclasses.field(default_factory=lambda: DeviceDied("samples", -9))
    made: int = 0
    asked: list[str] = dataclasses.field(default_factory=list)
    ended: int = 0

    def make(self) -> CellDevice:
        self.made += 1
        return cast(CellDevice, self)

    def start(self) -> None:
        """It is there."""

    def begin_samples(self, case: str, seed: int) -> Callable[[], tuple[Call, ...]]:
        self.asked.append(case)
        dies = self.script.pop(0) if self.script else False

        def answer() -> tuple[Call, ...]:
            if dies:
                raise self.death
            return (Call(case, (seed,), expected=None),)

        return answer

    def end(self) -> None:
        self.ended += 1


def test_one_process_serves_all_cases_and_each_once() -> None:
    machine = Machine()
    samples = Samples(machine.make, 7)
    samples.begin("a")
    assert (machine.made, machine.asked) == (1, []), "what has just been made is not waited for"
    samples.begin("a")
    samples.begin("b")
    assert machine.asked == ["a"], "one at a time"
    assert [samples.calls(each)[0].method for each in ("a", "b", "a", "b")] == ["a", "b", "a", "b"]
    samples.begin("b")
    assert (machine.made, machine.asked) == (1, ["a", "b"])
    samples.close()
    assert machine.ended == 1


def test_what_was_begun_for_another_case_is_kept() -> None:
    machine = Machine()
    samples = Samples(machine.make, 7)
    samples.calls("first")
    samples.begin("a")
    assert samples.calls("b")[0].method == "b"
    assert samples.calls("a")[0].method == "a"
    assert machine.asked == ["first", "a", "b"]


@pytest.mark.parametrize("death", [DeviceDied("samples", -9), DeviceBroken("no len")])
@pytest.mark.parametrize("begun", ["", "a", "b"])
def test_a_process_that_served_others_is_replaced_where_it_fails(begun: str, death: Exception) -> None:
    machine = Machine([False, True], death)
    samples = Samples(machine.make, 7)
    samples.calls("first")
    if begun:
        samples.begin(begun)
    assert samples.calls("a")[0].method == "a"
    assert samples.calls("b")[0].method == "b"
    assert machine.made == 2


def test_what_fails_for_want_of_time_is_not_waited_for_again() -> None:
    """The next case gets a fresh process, which is not asked for what another was."""
    machine = Machine([False, True], MachineTooSlow("it did not answer within 1200 s"))
    samples = Samples(machine.make, 7)
    samples.calls("first")
    with pytest.raises(MachineTooSlow):
        samples.calls("a")
    assert samples.calls("b")[0].method == "b"
    assert (machine.made, machine.asked) == (2, ["first", "a", "b"])


def test_a_case_that_pytorch_cannot_do_is_the_harnesss_error_each_time() -> None:
    machine = Machine([False, True, True])
    samples = Samples(machine.make, 7)
    samples.calls("first")
    for _ in range(2):
        with pytest.raises(HarnessError, match="PyTorch without a backend cannot make the samples of 'a'"):
            samples.calls("a")
    assert machine.asked == ["first", "a", "a"]
    assert samples.calls("b")[0].method == "b"


@pytest.fixture(scope="module")
def pool() -> Iterator[ZygotePool]:
    pool = ZygotePool(Limits())
    yield pool
    pool.close()


def _samples(pool: ZygotePool, toolchain: str) -> Samples:
    stack = toolchain_named(toolchain)

    def start() -> Any:
        return stack.client_class()("control", lambda: pool.fork(stack.device("control"), None, {}), Ledger())

    return Samples(start, 3)


@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo"])
def test_samples_are_the_same_whatever_was_made_before_them(pool: ZygotePool, toolchain: str) -> None:
    names = [case.name for case in corpus(toolchain)]
    forwards, backwards = _samples(pool, toolchain), _samples(pool, toolchain)
    found = {name: forwards.calls(name) for name in names}
    for name in reversed(names):
        assert is_equal(_of(backwards.calls(name)), _of(found[name])), name
    forwards.close()
    backwards.close()


def _of(calls: tuple[Call, ...]) -> list[Any]:
    return [(call.method, call.inputs, call.expected) for call in calls]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_backend_that_ends_the_process_harms_nobody(pool: ZygotePool, sent: signal.Signals) -> None:
    samples = _samples(pool, "torchscript")
    samples.calls("add")
    device = cast(Any, samples._device)
    child = device._transport
    os.kill(child._zygote.pid_of(child._ticket), sent)
    assert samples.calls("linear")[0].method == "forward"
    samples.close()


def test_a_process_whose_zygote_was_replaced_is_replaced_too(pool: ZygotePool) -> None:
    """A backend can end what both were forked from, and the next device has it started again."""
    samples = _samples(pool, "torchscript")
    samples.calls("add")
    kind = toolchain_named("torchscript").device("control").zygote
    first = pool.start(kind)
    os.kill(first._process.pid, signal.SIGKILL)
    first._process.wait()
    assert pool.start(kind) is not first
    assert samples.calls("linear")[0].method == "forward"
    samples.close()
