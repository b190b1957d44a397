"""What every toolchain's devices have: a table of verbs, and the session that keeps a device's objects."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from conformance.api.backend import Backend
from conformance.devices import Leave, Subject
from conformance.toolchains import load_backend

VerbFunction = TypeVar("VerbFunction", bound=Callable[..., Any])
BackendType = TypeVar("BackendType", bound=Backend)


class Verbs:
    """A table of verbs: used as a decorator, it makes a function answerable by its name.

    The function gets the session, then the arguments by keyword.
    """

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {
            each.__name__: each for each in (register, switch, release, leave)
        }

    def __call__(self, function: VerbFunction) -> VerbFunction:
        self._functions[function.__name__] = function
        return function

    def names(self) -> tuple[str, ...]:
        """Every verb."""
        return tuple(self._functions)

    def named(self, name: str) -> Callable[..., Any]:
        """The function that answers a verb."""
        return self._functions[name]

    def answer(self, session: Any, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer a verb. KeyError for an unknown one is the harness's fault, and is reported as such."""
        return self._functions[verb](session, **arguments)


class ObjectSession(Generic[BackendType]):
    """Everything that one device holds: the backend (None in a control), and objects by their numbers."""

    def __init__(self, subject: dict[str, Any] | None, verbs: Verbs, backend_class: type[BackendType]) -> None:
        self._subject = subject
        self._verbs = verbs
        self._backend_class = backend_class
        self._objects: dict[int, Any] = {}
        self._next = 0
        self.backend: BackendType | None = None

    def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer a verb."""
        return self._verbs.answer(self, verb, arguments)

    def keep(self, thing: Any) -> int:
        """The number under which ``thing`` can be asked for again."""
        self._next += 1
        self._objects[self._next] = thing
        return self._next

    def get(self, number: int) -> Any:
        """The object that was kept under that number. KeyError if there is none."""
        return self._objects[number]

    def discard(self, number: int) -> None:
        """Drop one object, and collect garbage."""
        del self._objects[number]
        gc.collect()

    def clear(self) -> None:
        """Drop every object, and collect garbage."""
        self._objects.clear()
        gc.collect()

    def open(self) -> None:
        """Find the backend's class and make the one instance of this process."""
        if self._subject is not None and self.backend is None:
            with Subject():
                backend = load_backend(self._subject)
            assert isinstance(backend, self._backend_class)
            self.backend = backend


def register(session: ObjectSession[Any]) -> None:
    """Make the backend known to PyTorch, as its author's ``load()`` does it."""
    session.open()
    if session.backend is not None:
        with Subject():
            session.backend.load()


def switch(session: ObjectSession[Any], environment: dict[str, str | None]) -> None:
    """Change environment variables of the running process."""
    import os

    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def release(session: ObjectSession[Any]) -> None:
    """Destroy everything that the device holds, and with it the backend's objects."""
    with Subject():
        session.clear()


def leave(session: ObjectSession[Any], status: int) -> None:
    """End the process as a script ends: destroy the objects, run what is registered for exit, finalise the interpreter.

    Never answers: the exit code of the process is the answer, which is ``status`` where nothing else has ended it.
    """
    with Subject():
        session.clear()
    raise Leave(status)
