"""The far side of a target elsewhere: a zygote and its children there, for a pool that sits at the other end.

It runs in an interpreter that execnet started, with the harness that is installed *there*. Requests come one after the
other; ``answer`` and ``leave`` wait for a child as any pool's do, under the same supervision.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import execnet

from conformance.api.errors import DeviceEnded, HarnessError, SubjectError, TargetUnable
from conformance.devices import Child, Limits, ZygotePool
from conformance.toolchains import Source, toolchain_named


def serve(channel: Any) -> None:
    """Answer the requests on an execnet channel until its other end closes."""
    with contextlib.closing(_FarSide()) as far:
        for number, operation, arguments in channel:
            _send(channel, number, far.answer(operation, arguments))


def _send(channel: Any, number: int, message: dict[str, Any]) -> None:
    try:
        channel.send((number, message))
    except execnet.DumpError as error:
        channel.send((number, {"broken": f"the answer of the target cannot be sent: {error}"}))


class _FarSide:
    def __init__(self) -> None:
        #: Where libraries are kept that come from the near side; made for the first of them.
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._pool = ZygotePool(Limits())
        self._children: dict[int, Child] = {}
        #: The backends of the run by the number that the near side gave them: what this machine says of each.
        self._prepared: dict[int, tuple[dict[str, Any], dict[str, str | None]]] = {}

    def close(self) -> None:
        for child in self._children.values():
            child.end()
        self._pool.close()
        if self._folder is not None:
            self._folder.cleanup()

    def answer(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What a request came to, in builtin values."""
        operations: dict[str, Callable[..., Any]] = {
            "prepare": self._prepare,
            "fork": self._fork,
            "ask": lambda device, verb, arguments: self._children[device].ask(verb, arguments),
            "answer": lambda device, phase, seconds: dataclasses.asdict(self._children[device].answer(phase, seconds)),
            "leave": lambda device, phase: self._children[device].leave(phase),
            "end": self._end,
        }
        try:
            return {"value": operations[operation](**arguments)}
        except (DeviceEnded, SubjectError) as error:  # the second for what a process raised when it was to leave
            fields = {each.name: getattr(error, each.name) for each in dataclasses.fields(error)}
            return {"came to": type(error).__name__, "fields": fields}
        except TargetUnable as error:
            return {"unable": str(error)}
        except HarnessError as error:
            return {"broken": str(error), "type": type(error).__name__}
        except Exception as error:  # the edge: whatever fails here must be told at the other end
            return {"broken": f"{type(error).__name__}: {error}"}

    def _prepare(self, backend: int, source: dict[str, Any], library: bytes | None) -> dict[str, Any]:
        """Examine and prepare a backend on this machine; ``problem`` says why it cannot be used."""
        from conformance.discovery.describing import examine

        version = _version_of(source["distribution"])
        if library is not None:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True)
            copy = Path(self._folder.name) / f"{backend}-{Path(source['library']).name}"
            copy.write_bytes(library)
            source = source | {"library": str(copy)}
        candidate = examine(Source(**(source | {"distribution": "", "version": ""})), self._pool, prepare=True)
        if candidate.description is None or candidate.problem:
            return {"problem": candidate.problem, "version": version}
        self._prepared[backend] = candidate.description.subject(), candidate.description.prepared
        return {"problem": "", "version": version}

    def _fork(
        self,
        device: int,
        toolchain: str,
        role: str,
        backend: int | None,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: dict[str, Any],
    ) -> None:
        if backend is not None:
            subject, prepared = self._prepared[backend]
            environment = {**prepared, **environment}
        self._children[device] = self._pool.fork(
            toolchain_named(toolchain).device(role), subject, environment, Limits(**limits)
        )

    def _end(self, device: int) -> None:
        child = self._children.pop(device, None)
        if child is not None:
            child.end()


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution) if distribution else ""
    except metadata.PackageNotFoundError:
        return ""
