"""The objects of a device, and the table of verbs."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable
from typing import Any, TypeVar

from conformance.backend import TorchScriptBackend
from conformance.registry import load_backend
from conformance.toolchains import Leave, Subject

VerbFunction = TypeVar("VerbFunction", bound=Callable[..., Any])
_VERBS: dict[str, Callable[..., Any]] = {}


def verb(function: VerbFunction) -> VerbFunction:
    """Make a function answerable by its name. It gets the session, then the arguments by keyword."""
    _VERBS[function.__name__] = function
    return function


def verb_names() -> tuple[str, ...]:
    """Every verb."""
    return tuple(_VERBS)


def verb_named(name: str) -> Callable[..., Any]:
    """The function that answers a verb."""
    return _VERBS[name]


@dataclasses.dataclass
class Scripted:
    """A scripted module and the case that it was built from."""

    module: Any
    case: Any


class Session:
    """Everything that one device holds: the backend (None in a control), and the modules by their numbers."""

    def __init__(self, subject: dict[str, Any] | None) -> None:
        self._subject = subject
        self._objects: dict[int, Any] = {}
        self._next = 0
        self.backend: TorchScriptBackend | None = None

    def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer a verb. KeyError for an unknown one is the harness's fault, and is reported as such."""
        return _VERBS[verb](self, **arguments)

    def keep(self, thing: Any) -> int:
        """The number under which ``thing`` can be asked for again."""
        self._next += 1
        self._objects[self._next] = thing
        return self._next

    def get(self, number: int) -> Any:
        """What was kept under that number."""
        return self._objects[number]

    def module(self, number: int) -> Any:
        """The module that was kept under that number, scripted, lowered or loaded."""
        thing = self._objects[number]
        return thing.module if isinstance(thing, Scripted) else thing

    def discard(self, number: int) -> None:
        """Drop one thing."""
        del self._objects[number]
        gc.collect()

    def clear(self) -> None:
        """Drop everything that is held."""
        self._objects.clear()
        gc.collect()

    def open(self) -> None:
        """Find the backend's class and make the one instance of this process."""
        if self._subject is not None and self.backend is None:
            with Subject():
                backend = load_backend(self._subject)
            assert isinstance(backend, TorchScriptBackend)
            self.backend = backend


@verb
def register(session: Session) -> None:
    """Make the backend known to PyTorch, as its author's ``load()`` does it."""
    session.open()
    if session.backend is not None:
        with Subject():
            session.backend.load()


@verb
def switch(session: Session, environment: dict[str, str | None]) -> None:
    """Change environment variables of the running process."""
    import os

    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@verb
def release(session: Session) -> None:
    """Destroy every module that the device holds, and with them the backend's objects."""
    with Subject():
        session.clear()


@verb
def leave(session: Session) -> None:
    """End the process as a script ends: destroy the modules, run what is registered for exit, finalise the interpreter.

    Never answers: the exit code of the process is the answer.
    """
    with Subject():
        session.clear()
    raise Leave
