"""Verbs, as clients declare them: both sides agree, and what the annotations say is what travels."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any, Self

import pytest
import torch

from conformance.api.case import Call
from conformance.compare.values import decode, encode
from conformance.extensions import resolve
from conformance.toolchains import toolchain_named
from conformance.toolchains.declarations import (
    Handle,
    Inputs,
    InputsOf,
    Mark,
    Phase,
    Value,
    arguments_of,
    ask,
    declarations_of,
    is_handle,
    marks_of,
    packed,
    saved_as,
    unpacked,
    without_none,
)
from conformance.toolchains.torchscript import client as torchscript_client
from conformance.toolchains.verbs import Verbs

#: Verbs that no client declares: what every device does around a cell, and what the operator table asks for.
_AROUND = {"register", "release", "leave"}
_OF_OPERATORS = {"operator_themes", "varied_samples", "lower_program", "run_program", "forget_program"}
_OF_THE_TABLE = {"operators", "operator_samples"}
_OF_TRIALS = {"shadow", "know", "play"}
_ASKED = {
    "torchscript": _OF_OPERATORS | _OF_THE_TABLE | _OF_TRIALS | {"artifacts"},
    "dynamo": _OF_OPERATORS | _OF_THE_TABLE | _OF_TRIALS | {"confirm_program", "joined_program"},
    "executorch": _OF_OPERATORS | _OF_THE_TABLE | _OF_TRIALS | {"artifacts", "confirm_program"},
}
#: What only the program without Python answers, or nobody: no clause of the third asks what changed of PyTorch.
_NATIVE = {"torchscript": {"mapped_files", "run_at_once"}, "dynamo": set[str](), "executorch": {"pytorch_changes"}}


def _verbs(toolchain: str) -> Verbs:
    verbs: Verbs = resolve(toolchain_named(toolchain).session.partition(":")[0]).verb
    return verbs


@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo", "executorch"])
def test_every_verb_is_declared(toolchain: str) -> None:
    declared = set(declarations_of(toolchain))
    answered = set(_verbs(toolchain).names())
    assert answered - declared == _AROUND | _ASKED[toolchain]
    assert declared - answered == _NATIVE[toolchain]


def test_what_the_program_without_python_answers_is_declared() -> None:
    table = Path(torchscript_client.__file__).with_name("csrc").joinpath("session.cpp").read_text()
    answered = set(re.findall(r'\{"(\w+)", &Session::', table))
    assert answered > _NATIVE["torchscript"]
    assert answered - set(declarations_of("torchscript")) == _AROUND - {"leave"}


def _parameters(function: Any) -> dict[str, str]:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {each.name: str(each.annotation) for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD}


@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo", "executorch"])
def test_both_sides_have_the_same_arguments(toolchain: str) -> None:
    for verb, declaration in declarations_of(toolchain).items():
        if verb not in _NATIVE[toolchain]:
            answering = _parameters(_verbs(toolchain).named(verb))
            assert set(arguments_of(declaration)) == set(answering), verb
            for name, hint in arguments_of(declaration).items():
                assert _travelling(hint) in answering[name], f"{verb}({name})"


def _travelling(hint: Any) -> str:
    """What the annotation in a device has to mention, for one of a client."""
    hint = without_none(hint, object())
    if is_handle(hint):
        return "int"
    if Mark.VALUE in marks_of(hint) or Mark.INPUTS in marks_of(hint) or saved_as(hint) is not None:
        return "bytes"
    kinds = [each for each in typing.get_args(hint) if each is not Ellipsis]
    return _travelling(kinds[-1]) if kinds else ""


@dataclasses.dataclass(frozen=True, slots=True)
class Thing(Handle):
    """What the device below holds."""

    said: str = ""

    @classmethod
    def from_reply(cls, value: Any, reply: Any) -> Self:
        return cls(value, reply.stderr)


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """What it finds."""

    results: list[Value]
    names: tuple[str, ...]


class Client:
    """A device that replies with what it is given to reply, and keeps what it was asked."""

    def __init__(self, value: Any = None) -> None:
        self._value = value
        self.last_reply = types.SimpleNamespace(stderr="a warning")
        self.asked: tuple[str, str, dict[str, Any]] | None = None

    def call(self, verb: str, /, phase: str, **arguments: Any) -> Any:
        self.asked = verb, phase, arguments
        return self._value

    @ask(phase="run")
    def compare(self, first: Thing, *others: Thing, often: int = 2) -> Findings: ...  # type: ignore[empty-body]

    @ask(verb="run")
    def run_call(self, thing: Thing, call: Call) -> list[Value]: ...  # type: ignore[empty-body]

    @ask()
    def _make(self, value: Value, spec: Value | None = None) -> Thing: ...  # type: ignore[empty-body]

    @ask()
    def look(self, calls: list[InputsOf], *, after: Phase = "inspect") -> tuple[Thing, Value | None]: ...  # type: ignore[empty-body]

    @ask()
    def configure(self, **settings: Any) -> None: ...


def test_a_handle_travels_as_its_number_and_a_default_is_sent() -> None:
    client = Client({"results": [encode(1.5)], "names": ["x"]})
    assert client.compare(Thing(3), Thing(4), Thing(5)) == Findings([1.5], ("x",))
    assert client.asked == ("compare", "run", {"first": 3, "others": [4, 5], "often": 2})


def test_a_call_travels_as_its_method_and_its_inputs() -> None:
    client = Client([encode(torch.ones(2))])
    (result,) = client.run_call(Thing(1), Call("forward", (torch.zeros(2), 7), expected=None))
    assert torch.equal(result, torch.ones(2))
    assert client.asked is not None
    verb, phase, arguments = client.asked
    assert (verb, phase, list(arguments)) == ("run", "run", ["thing", "method", "inputs"])
    assert decode(arguments["inputs"])[1] == 7


def test_none_is_a_value_only_where_it_is_not_the_lack_of_one() -> None:
    client = Client(9)
    assert client._make(None) == Thing(9, "a warning")
    assert client.asked == ("make", "make", {"value": encode(None), "spec": None})


def test_a_phase_does_not_travel() -> None:
    client = Client([2, None])
    assert client.look([Call("forward", (1,), expected=None)], after="load") == (Thing(2, "a warning"), None)
    assert client.asked == ("look", "load", {"calls": [encode((1,))]})


def test_settings_travel_under_their_own_names() -> None:
    client = Client()
    client.configure(limit=3, names=["a"])
    assert client.asked == ("configure", "configure", {"limit": 3, "names": ["a"]})


def test_a_wrong_argument_is_an_error_as_in_any_call() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'call'"):
        Client().run_call(Thing(1))  # type: ignore[call-arg]


def test_containers_travel_item_by_item() -> None:
    assert packed(dict[str, list[Inputs]], {"forward": [(1,), (2,)]}) == {"forward": [encode((1,)), encode((2,))]}
    assert packed(tuple[tuple[int, int], ...], ((0, 1),)) == [[0, 1]]
    assert unpacked(tuple[Value, list[bool]], [encode("x"), [True]], None) == ("x", [True])
