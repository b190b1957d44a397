"""Verbs that ask the backend itself: what it claims, what it can really do, and what it was given.

A lowered module keeps the backend's object, the processed module and the handles in attributes of its inner module.
Methods defined there later see them; so a throwaway lowering can be asked anything, available or not.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import torch

from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.torchscript.verbs.session import Session, verb

_PROBES = """
def probe_spec(self) -> Dict[str, Any]:
    return self.__method_compile_spec

def probe_processed(self) -> Any:
    return self.__processed_module

def probe_available(self) -> bool:
    return self.__backend.is_available()

def probe_compile(self) -> Dict[str, Any]:
    return self.__backend.compile(self.__processed_module, self.__method_compile_spec)

def probe_execute_compiled(self, method: str, inputs: List[Any]) -> List[Any]:
    handles = self.__backend.compile(self.__processed_module, self.__method_compile_spec)
    return self.__backend.execute(handles[method], inputs)

def probe_execute(self, handle: Any, inputs: List[Any]) -> List[Any]:
    return self.__backend.execute(handle, inputs)
"""


def _probed(session: Session, lowered: int) -> Any:
    inner = session.module(lowered).__loweredModule__
    if not inner._c._has_method("probe_spec"):
        for source in _PROBES.split("\n\n"):
            inner.define(source.strip("\n") + "\n")
    return inner


@verb
def read_spec(session: Session, lowered: int) -> bytes:
    """The method compile spec that a lowered module holds, encoded."""
    with Subject():
        return encode(_probed(session, lowered).probe_spec())


@verb
def received_spec(session: Session, lowered: int) -> bytes | None:
    """The method compile spec that preprocess saw, as the backend kept it; None if it keeps none."""
    assert session.backend is not None
    with Subject():
        spec = session.backend.received_spec(_probed(session, lowered).probe_processed())
        return None if spec is None else encode(spec)


@verb
def given_spec(session: Session, module: int) -> bytes:
    """The method compile spec that the author's class gives for a scripted module."""
    assert session.backend is not None
    with Subject():
        return encode(session.backend.compile_spec(session.get(module).case))


#: After this many slow answers no more questions are asked. One may be slow because the machine is busy.
_SLOW_SECONDS = 0.1
_SLOW_ANSWERS = 3


@verb
def claims(session: Session, lowered: int, count: int = 1) -> dict[str, Any]:
    """What ``is_available()`` answers to ``count`` questions, and the seconds of the third slowest (0: fewer)."""
    with Subject():
        inner = _probed(session, lowered)
        answers: list[bool] = []
        seconds: list[float] = []
        while len(answers) < count and sum(each > _SLOW_SECONDS for each in seconds) < _SLOW_ANSWERS:
            started = time.perf_counter()
            answers.append(bool(inner.probe_available()))
            seconds.append(time.perf_counter() - started)
    slow = sorted(seconds, reverse=True)[_SLOW_ANSWERS - 1 : _SLOW_ANSWERS]
    return {"answers": answers, "slow_seconds": slow[0] if slow else 0.0}


@verb
def claims_directly(session: Session) -> bool:
    """What a fresh object of the backend's class answers, with no module around it."""
    assert session.backend is not None
    with Subject():
        return bool(getattr(torch.classes.__backends__, session.backend.name)().is_available())


@verb
def measure(session: Session, lowered: int, method: str, inputs: bytes) -> dict[str, str | None]:
    """What the backend can do in this process, whatever it claims: compile, and execute.

    ``compile`` and ``execute`` are None when they worked, otherwise the text of the error. Where compile fails there
    are no handles, so execute is tried with what could serve as one: the processed module, and its entry of that name.
    """
    with Subject():
        inner = _probed(session, lowered)
        typed_inputs = list(decode(inputs))
        found: dict[str, str | None] = {}
        found["compile"] = _error_of(inner.probe_compile)
        if found["compile"] is None:
            attempts = [functools.partial(inner.probe_execute_compiled, method, typed_inputs)]
        else:
            processed = inner.probe_processed()
            stand_ins = [processed]
            if isinstance(processed, dict) and method in processed:
                stand_ins.append(processed[method])
            attempts = [functools.partial(inner.probe_execute, handle, typed_inputs) for handle in stand_ins]
        for attempt in attempts:
            found["execute"] = _error_of(attempt)
            if found["execute"] is None:
                break
    return found


def _error_of(attempt: Callable[[], Any]) -> str | None:
    try:
        attempt()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
