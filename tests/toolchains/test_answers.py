"""What devices answer is data from an enemy: a clause that asked gets what it expects, or a failure of the backend."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support.campaigns.answers import campaign

from conformance.api.errors import GarbledValue
from conformance.compare.values import encode
from conformance.devices import Device
from conformance.toolchains.declarations import Value, ask, expected, reading
from conformance.toolchains.torchscript.answers import Graph
from conformance.toolchains.torchscript.client import Ability
from conformance.toolchains.torchscript.damage.archive import records


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


@pytest.mark.parametrize("answer", [7, None, "text", {"a": 1}, [7], [encode(torch.ones(1))[:50]]])
def test_an_answer_that_cannot_be_read_is_garbled(answer: Any) -> None:
    with pytest.raises(GarbledValue):
        Client(answer).run([0])


@pytest.mark.parametrize("answer", [7, None, {}, {"compile": None}, {"compile": 7, "execute": None}])
def test_classes_that_read_their_own_answers_garble_them_too(answer: Any) -> None:
    with pytest.raises(GarbledValue):
        Client(answer).measure()


def test_what_is_missing_in_an_answer_is_garbled() -> None:
    with pytest.raises(GarbledValue, match="no answer to 'asked': KeyError: 'missing'"), reading("asked"):
        dict[str, int]()["missing"]


def test_changed_answers_are_the_backends_own() -> None:
    """A few of those that ``python -m support.campaigns answers`` tries by the thousand."""
    watch = campaign(80, 1, lambda clause: clause in ("lowering.outputs", "lowering.methods", "compile.result-form"))
    assert not watch.findings, watch.summary()
    verdicts = {verdict for _, verdict in watch.ends}
    assert {"PASS", "FAIL"} <= verdicts


def test_an_artifact_that_is_no_archive_is_garbled() -> None:
    with pytest.raises(GarbledValue, match="no archive"):
        records(b"PK")
