"""What devices answer is data from an enemy: a clause that asked gets what it expects, or a failure of the backend."""

from __future__ import annotations

import contextlib
import io
import pickle
import zipfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from support.campaigns.answers import campaign

from conformance.api.errors import ConformanceFailure, GarbledValue
from conformance.compare.assertions import assert_contiguous_like, assert_strides_like
from conformance.compare.comparison import describe
from conformance.compare.packed import packed, unpacked
from conformance.compare.values import decode, encode
from conformance.devices import Device
from conformance.toolchains.declarations import Value, ask, declaration_of, expected, reading
from conformance.toolchains.dynamo.client import Trained
from conformance.toolchains.dynamo.training import assert_dropped_alike
from conformance.toolchains.torchscript.answers import Graph
from conformance.toolchains.torchscript.client import Ability, Module, Step, TorchScriptDevice
from conformance.toolchains.torchscript.damage.archive import debug_handles, flips, records, truncations


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, True),
        (int, 0.5),
        (float, "1"),
        (bool, 1),
        (None, 0),
        (str | None, 7),
        (list[int], {1: 2}),
        (list[int], [1, "2"]),
        (tuple[int, str], [1]),
        (tuple[int, ...], [1, None]),
        (dict[str, int], {"a": "b"}),
        (dict[str, int], {1: 1}),
        (Graph, {"operators": [], "lines": {}}),
        (Graph, {"operators": [], "lines": {}, "calls": 7}),
    ],
)
def test_what_is_not_what_was_expected_is_garbled(hint: Any, value: Any) -> None:
    with pytest.raises(GarbledValue, match="expected"):
        expected(hint, value)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, 2**70),
        (float, 7),
        (str | None, None),
        (list[int], (1, 2)),
        (tuple[int, ...], []),
        (tuple[int, str], [1, "a"]),
        (dict[str, list[int]], {"a": [1]}),
        (Any, object()),
        (Graph, {"operators": ["a"], "lines": {"a": ["b"]}, "calls": [], "more": 1}),
    ],
)
def test_what_was_expected_is_left_as_it_is(hint: Any, value: Any) -> None:
    assert expected(hint, value) is value


class Client(Device):
    """One that gets an answer from nobody."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.last_reply = None

    def call(self, verb: str, /, phase: str | None = None, seconds: float | None = None, **arguments: Any) -> Any:
        return self._answer

    @ask(each="calls")
    def run(self, calls: list[int]) -> list[Value]:  # type: ignore[empty-body]
        """As many results as there are calls."""

    @ask(each="count")
    def often(self, count: int = 2) -> list[str]:  # type: ignore[empty-body]
        """So many texts."""

    @ask()
    def measure(self) -> Ability:  # type: ignore[empty-body]
        """An object of a class that reads its own."""


def test_there_are_as_many_items_as_were_asked_for() -> None:
    assert Client([encode(1), encode(2)]).run([0, 0]) == [1, 2]
    assert Client(["a", "b"]).often() == ["a", "b"]
    for answer in ([], [encode(1)] * 3):
        with pytest.raises(GarbledValue, match="items, where 2 were asked for"):
            Client(answer).run([0, 0])
    with pytest.raises(GarbledValue, match="1 items, where 2"):
        Client(["a"]).often()


def test_threads_without_a_result_of_a_call_have_raised_something() -> None:
    """Else there would be nothing that a clause could find wrong."""
    answer = {"results": [[encode(1)], []], "modes": [], "errors": ["E: no"]}
    declared = declaration_of(TorchScriptDevice.run_in_threads)
    assert declared.read(answer, None).results == [[1], []]
    with pytest.raises(GarbledValue, match=r"no thread has a result of the calls \[1\], and none has raised anything"):
        declared.read({**answer, "errors": []}, None)


@pytest.mark.parametrize("answer", [7, None, "text", {"a": 1}, [7], [encode(torch.ones(1))[:50]]])
def test_an_answer_that_cannot_be_read_is_garbled(answer: Any) -> None:
    with pytest.raises(GarbledValue):
        Client(answer).run([0])


@pytest.mark.parametrize("answer", [7, None, {}, {"compile": None}, {"compile": 7, "execute": None}])
def test_classes_that_read_their_own_answers_garble_them_too(answer: Any) -> None:
    with pytest.raises(GarbledValue):
        Client(answer).measure()


@pytest.mark.parametrize("needs_grad", [False, True])
def test_zeros_that_pytorch_keeps_without_memory_are_written(needs_grad: bool) -> None:
    """Autograd has such zeros, and torch.save has none of them."""
    zeros = torch._efficientzerotensor(3, dtype=torch.float64).requires_grad_(needs_grad)
    (read,) = decode(encode([zeros]))
    assert (read.dtype, read.tolist(), read.requires_grad) == (torch.float64, [0.0] * 3, needs_grad)
    (read,) = unpacked(packed([zeros]))
    assert (read.dtype, read.tolist()) == (torch.float64, [0.0] * 3)


def test_what_is_missing_in_an_answer_is_garbled() -> None:
    with pytest.raises(GarbledValue, match="no answer to 'asked': KeyError: 'missing'"), reading("asked"):
        dict[str, int]()["missing"]


@pytest.mark.parts
def test_changed_answers_are_the_backends_own() -> None:
    """A few of those that ``python -m support.campaigns answers`` tries by the thousand."""
    watch = campaign(80, 1, lambda clause: clause in ("lowering.outputs", "lowering.methods", "compile.result-form"))
    assert not watch.findings, watch.summary()
    verdicts = {verdict for _, verdict in watch.ends}
    assert {"PASS", "FAIL"} <= verdicts


@pytest.mark.parametrize("read", [records, lambda data: flips(data, 0, 1), lambda data: truncations(data, 0, 1)])
def test_an_artifact_that_is_no_archive_is_garbled(read: Callable[[bytes], Any]) -> None:
    with pytest.raises(GarbledValue, match="an artifact"):
        read(b"")
    with pytest.raises(GarbledValue, match="no archive"):
        records(b"PK")


def _archive(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


def test_an_archive_whose_directory_lies_before_its_beginning_is_garbled() -> None:
    """For which zipfile raises ValueError, and no error of its own."""
    damaged = bytearray(_archive("data.pkl", b"data"))
    directory = damaged.rindex(b"PK\x01\x02")
    damaged[directory + 42 : directory + 46] = b"\x00\x00\x00\x00"
    with pytest.raises(GarbledValue, match="no archive: ValueError: negative seek"):
        records(bytes(damaged[4:]))


@pytest.mark.parametrize("table", [b"", b"no pickle", pickle.dumps([1]), pickle.dumps([(1, 2)])])
def test_a_table_of_debug_handles_that_is_none_is_garbled(table: bytes) -> None:
    with pytest.raises(GarbledValue, match="a table of debug handles that is none"):
        debug_handles(_archive("model/callstack_debug_map.pkl", table))


def test_what_has_too_few_tensors_has_other_strides() -> None:
    one = torch.ones(2, 3)
    for found, expected_ in (([], [one]), ([one, one], [one])):
        with pytest.raises(ConformanceFailure, match="expected 1 tensors, found"):
            assert_strides_like(found, expected_, "m")


def test_what_is_sparse_has_no_strides() -> None:
    one = torch.ones(2, 3)
    for asserts in (assert_strides_like, assert_contiguous_like):
        with pytest.raises(ConformanceFailure, match="found a tensor of float32: "):
            asserts([one.to_sparse()], [one], "m")


def test_a_tensor_of_which_no_element_can_be_read_is_described() -> None:
    assert describe(torch.empty(2, dtype=torch.bits8)).startswith("bits8[2], which cannot be read")


@pytest.mark.parametrize(
    ("results", "gradients"),
    [
        ([], []),
        ([torch.ones(4)] * 2, [{"argument 0": torch.ones(4)}]),
        ([torch.ones(4).bool()], [{"argument 0": torch.ones(4)}]),
        ([torch.ones(4)], []),
        ([torch.ones(4)], [{"argument 0": None}]),
        ([torch.ones(4)], [{"argument 0": torch.ones(3)}]),
    ],
)
def test_what_was_dropped_is_told_of_one_result_and_its_gradient(results: Any, gradients: Any) -> None:
    """A result that was detached has no gradient at all."""
    expected = Trained([torch.ones(4)], [True], [{"argument 0": torch.ones(4)}])
    with pytest.raises(ConformanceFailure, match="m: "):
        assert_dropped_alike(Trained(results, [True], gradients), expected, 0.25, "m")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda result: (result, result), ""),
        (lambda result: (result.double(), result), "something like"),
        (lambda result: (result, result.double()), "something like"),
        (lambda result: (result[None], result), "something like"),
        (lambda result: (result, result.flip(0)), "dropped one way"),
        (lambda result: (result * 1.5, result), "neither this nor eager"),
        (lambda result: (result, result * 1.5), "neither this nor eager"),
        (lambda result: (result + (result == 0), result + (result == 0)), "expected 0.5 of the elements"),
    ],
)
def test_what_is_not_dropped_is_what_eager_gives(change: Callable[[torch.Tensor], Any], told: str) -> None:
    def trained(result: torch.Tensor, gradient: torch.Tensor) -> Trained:
        return Trained([result], [True], [{"argument 0": gradient}])

    dropped = torch.tensor([0.0, 2.0] * 100)
    drops_others = torch.tensor([0.0, 0.0, 2.0, 2.0] * 50)
    expected = trained(drops_others, drops_others)
    with pytest.raises(ConformanceFailure, match=told) if told else contextlib.nullcontext():
        assert_dropped_alike(trained(*change(dropped)), expected, 0.5, "m")


def test_there_are_modes_for_each_step_and_before() -> None:
    device = cast(Any, SimpleNamespace(_modes_under=lambda guard, steps: [{"grad": True}] * 3))
    for steps in (1, 3):
        with pytest.raises(GarbledValue, match="items, where"):
            TorchScriptDevice.modes_under(device, "no_grad", [Step(call=("forward", ()))] * steps)
    assert len(TorchScriptDevice.modes_under(device, "no_grad", [Step(call=("forward", ()))] * 2)) == 3


def test_of_slow_answers_about_availability_there_may_be_fewer_but_one() -> None:
    told: list[bool] = []
    device = cast(Any, SimpleNamespace(_claims=lambda lowered, count: {"answers": told, "slow_seconds": 0.5}))
    with pytest.raises(GarbledValue, match="0 items, where 1"):
        TorchScriptDevice.claims(device, Module(1), count=50)
    told += [True] * 3
    assert TorchScriptDevice.claims(device, Module(1), count=50)["answers"] == told
