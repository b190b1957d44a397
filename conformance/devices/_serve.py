"""A device's own side: prepare the process, then answer verbs until the other end closes."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import socket
import sys
import tempfile
import time
import traceback
import warnings
from typing import Any, NoReturn

import execnet

from conformance._util.processes import dump_stacks, limit_process, set_environment, settle
from conformance.devices._framing import frame, receive
from conformance.devices._imprint import Imprint
from conformance.devices.protocol import Leave, Session, Subject, describe_exception, text_of

#: After these verbs it is looked whether the process runs what it did: when the backend has loaded, and at the end.
_LOOKED_AFTER = ("register", "release", "leave")
#: So many differences are named.
_DIFFERENCES_TOLD = 3


def serve(descriptors: dict[str, int], message: dict[str, Any], imprint: Imprint) -> None:
    """Answer verbs on ``descriptors['connection']``, one at a time. Raises Leave when a verb asks to end.

    A device that is guarded says, where that is so, that it is no longer what ``imprint`` was taken of.
    """
    _settle(descriptors, message["environment"], message["limits"])
    sys.stdin = open(0, closefd=False)
    dump_stacks(descriptors["stack"])
    connection = socket.socket(fileno=descriptors["connection"])
    session = _open_session(message["session"], message["subject"])
    while (request := receive(connection)) is not None:
        leaving: Leave | None = None
        try:
            reply = _answer(session, request)
        except Leave as leave:
            reply, leaving = {"number": request["number"], "seconds": 0.0, "warnings": []}, leave
        changed = imprint.differences(session) if message["guarded"] and request["verb"] in _LOOKED_AFTER else []
        if changed:
            reply["tampered"] = "; ".join(changed[:_DIFFERENCES_TOLD])
        elif leaving is not None:
            raise leaving
        connection.sendall(_framed(reply))


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
    settle(descriptors["stdout"], descriptors["stderr"])
    for name in ("stdout", "stderr"):
        os.close(descriptors[name])
    set_environment(environment)
    tempfile.tempdir = None  # asked for before: it was another process's
    limit_process(**limits)


def _answer(session: Any, request: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        always = warnings.filters[0]
        try:
            reply = {"value": session.call(request["verb"], request["arguments"])}
        except Subject.Raised as raised:
            reply = {"raised": describe_exception(raised.original)}
        except Leave:
            raise
        except BaseException:
            reply = {"broken": traceback.format_exc()}
        ahead = list(itertools.takewhile(lambda each: each is not always, warnings.filters))
    # What a backend has set for everybody stays set, and can be seen.
    warnings.filters = [*ahead, *(each for each in warnings.filters if each not in ahead)]
    with contextlib.suppress(Exception):  # a backend may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    reply["number"] = request["number"]
    reply["seconds"] = time.perf_counter() - started
    reply["warnings"] = [f"{each.category.__name__}: {text_of(each.message)}" for each in caught]
    return reply
