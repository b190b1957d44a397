"""What a device answers."""

from __future__ import annotations

import os
from typing import Any

from conformance.api.case import case_named
from conformance.devices import Subject
from conformance.toolchains.verbs import ObjectSession, Verbs
from outside.backends import Postfix
from outside.toolchain import PostfixBackend

verb = Verbs()


def open_session(subject: dict[str, Any] | None) -> ObjectSession[PostfixBackend]:
    """A session for a backend; for an interpreter that is right when it is None."""
    return ObjectSession(subject, verb, PostfixBackend)


@verb
def samples(session: ObjectSession[PostfixBackend], case: str, seed: int) -> list[dict[str, Any]]:
    """Every sample of a program, with what is right."""
    chosen = case_named(case, "postfix")
    model, by_method = chosen.build(seed)
    function = Postfix().compile(model.text)
    return [
        {"method": method, "inputs": inputs, "expected": function(*inputs)}
        for method in chosen.methods
        for inputs in by_method[method]
    ]


@verb
def compile(session: ObjectSession[PostfixBackend], text: str) -> int:
    """Let the backend compile a program."""
    with Subject():
        return session.keep((session.backend or Postfix()).compile(text))


@verb
def board(session: ObjectSession[PostfixBackend]) -> str:
    """Where this process is."""
    return os.environ.get("OUTSIDE_BOARD", "no board")


@verb
def run(session: ObjectSession[PostfixBackend], function: int, inputs: tuple[float, ...]) -> float:
    """Call what was compiled."""
    with Subject():
        result: float = session.get(function)(*inputs)
    return result
