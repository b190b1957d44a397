"""What the two sides of a device agree on: its kind, what verbs may raise in it, and how that is told."""

from __future__ import annotations

import dataclasses
import traceback
from types import TracebackType
from typing import Any, Protocol

#: The environment variable that names the modules which a device must lack, with commas between them.
WITHOUT_MODULES = "CONFORMANCE_WITHOUT_MODULES"


@dataclasses.dataclass(frozen=True, slots=True)
class ZygoteKind:
    """A process from which devices are forked: a name, what it imports, and what it does ahead of its devices.

    ``imports`` are names of modules; ``preload`` names one more, with a function ``warm_up()``. This is an iterator:
    what it does before its first step is done before the first child, and each step while no child is asked for.
    Nothing of it may start threads, which do not survive a fork. ``preload`` is empty where there is nothing to do.

    Where ``makes_models`` is true, and the module has a function ``make_models(seed, cases)``, the steps of this come
    once it is known what the run is about: its seed, and the names of cases, or None for all. A function
    ``forget_models()`` of the module is called in a device that is to make its own.
    """

    name: str
    imports: tuple[str, ...] = ()
    preload: str = ""
    makes_models: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceKind:
    """A device for a role in the cells of a toolchain.

    ``session`` names, as ``module:function``, what is called with the subject inside the device and gives a
    :class:`Session`. ``run_folders`` are environment variables that are set to a folder which is fresh in each run.
    """

    toolchain: str
    role: str
    session: str
    zygote: ZygoteKind
    run_folders: tuple[str, ...] = ()
    #: Whether a backend that changes what the device runs of the harness and of PyTorch ends it.
    is_guarded: bool = True
    #: Whether it has the models that its zygote has made ahead.
    has_models: bool = True


class Session(Protocol):
    """What answers verbs inside a device."""

    def call(self, verb: str, arguments: dict[str, Any]) -> Any: ...


class Subject:
    """A block in which what is under test is at work: an exception that leaves it is the subject's."""

    class Raised(Exception):
        """Carries the exception of the subject to the edge of the device."""

        def __init__(self, original: BaseException) -> None:
            super().__init__(original)  # and not its text, which may raise
            self.original = original

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Subject.Raised):
            raise Subject.Raised(error) from error


class Leave(BaseException):
    """Raised by a verb that ends its process in the ordinary way, with an exit code that whoever asked for it has
    drawn: another one is that of something which ended the process before its time."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def describe_exception(error: BaseException) -> dict[str, Any]:
    """What was raised, in builtin values: its type, the types that this derives from, its text and its stack."""
    return {
        "type": _qualified_name(type(error)),
        "bases": [_qualified_name(base) for base in type(error).__mro__[1:-1]],
        "text": text_of(error),
        "stack": _without_surrogates("".join(traceback.format_exception(error))),
    }


def text_of(said: Any) -> str:
    """What an exception or a warning says, whoever wrote it."""
    try:
        return _without_surrogates(str(said))
    except BaseException as error:  # its __str__ is its author's
        return f"({type(said).__name__} cannot say what it is: {type(error).__name__})"


def _without_surrogates(text: str) -> str:
    """A text without lone surrogates, which stand for bytes that are no text, and which no message can hold."""
    return text.encode(errors="backslashreplace").decode()


def _qualified_name(type_: type) -> str:
    return type_.__qualname__ if type_.__module__ == "builtins" else f"{type_.__module__}.{type_.__qualname__}"
