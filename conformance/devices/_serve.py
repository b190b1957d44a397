"""A device's own side: prepare the process, then answer verbs until the other end closes."""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import socket
import sys
import time
import traceback
import warnings
from typing import Any, NoReturn

import execnet

from conformance.devices._framing import frame, receive
from conformance.devices.protocol import Leave, Session, Subject

#: Asked of a device that does not answer, to learn where it hangs; the handler is native and needs no GIL.
STACK_SIGNAL = signal.SIGUSR2


def serve(descriptors: dict[str, int], message: dict[str, Any]) -> None:
    """Answer verbs on ``descriptors['connection']``, one at a time. Raises Leave when a verb asks to end."""
    _settle(descriptors, message["environment"], message["limits"])
    sys.stdin = open(0, closefd=False)
    faulthandler.enable(descriptors["stack"], all_threads=True)
    faulthandler.register(STACK_SIGNAL, descriptors["stack"], all_threads=True)
    connection = socket.socket(fileno=descriptors["connection"])
    session = _open_session(message["session"], message["subject"])
    while (request := receive(connection)) is not None:
        connection.sendall(_framed(_answer(session, request)))


def _open_session(reference: str, subject: dict[str, Any] | None) -> Session:
    """The session that ``module:function`` makes for a backend, or for the control (None)."""
    module, _, function = reference.partition(":")
    session: Session = getattr(importlib.import_module(module), function)(subject)
    return session


def become_program(descriptors: dict[str, int], message: dict[str, Any]) -> NoReturn:
    """Replace this process by a program that answers verbs, settled as any device is: ``message['program']``, its path
    first, after which it is told the descriptors of the connection and of the file for its stack."""
    _settle(descriptors, message["environment"], message["limits"])
    kept = [descriptors["connection"], descriptors["stack"]]
    for descriptor in kept:
        os.set_inheritable(descriptor, True)
    program, *arguments = message["program"]
    os.execv(program, [program, *map(str, kept), *arguments])


def _framed(reply: dict[str, Any]) -> bytes:
    try:
        return frame(reply)
    except execnet.DumpError as error:
        broken = f"the value of the verb cannot be sent: {error}"
        return frame({"number": reply["number"], "seconds": reply["seconds"], "warnings": [], "broken": broken})


def _settle(descriptors: dict[str, int], environment: dict[str, str | None], limits: dict[str, int]) -> None:
    os.setpgid(0, 0)
    for name, target in (("stdout", 1), ("stderr", 2)):
        os.dup2(descriptors[name], target)
        os.close(descriptors[name])
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.close(devnull)
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _limit(limits)


def _limit(limits: dict[str, int]) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    try:
        with open("/proc/self/statm") as statm:
            in_use = int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return  # no such accounting on this platform: the wall clock remains
    ceiling = in_use + limits["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))


def _answer(session: Any, request: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            reply = {"value": session.call(request["verb"], request["arguments"])}
        except Subject.Raised as raised:
            reply = {"raised": _describe(raised.original)}
        except Leave:
            raise
        except BaseException:
            reply = {"broken": traceback.format_exc()}
    sys.stdout.flush()
    sys.stderr.flush()
    reply["number"] = request["number"]
    reply["seconds"] = time.perf_counter() - started
    reply["warnings"] = [f"{each.category.__name__}: {_text(each.message)}" for each in caught]
    return reply


def _describe(error: BaseException) -> dict[str, Any]:
    return {
        "type": _qualified(type(error)),
        "bases": [_qualified(base) for base in type(error).__mro__[1:-1]],
        "text": _text(error),
        "stack": _sendable("".join(traceback.format_exception(error))),
    }


def _text(said: Any) -> str:
    """What an exception or a warning says, whoever wrote it."""
    try:
        return _sendable(str(said))
    except Exception as error:  # its __str__ is its author's
        return f"({type(said).__name__} cannot say what it is: {type(error).__name__})"


def _sendable(text: str) -> str:
    """A text without lone surrogates, which stand for bytes that are no text, and which no message can hold."""
    return text.encode(errors="backslashreplace").decode()


def _qualified(type_: type) -> str:
    if type_.__module__ == "builtins":
        return type_.__qualname__
    return f"{type_.__module__}.{type_.__qualname__}"
