"""Targets elsewhere: children of a zygote on another machine, or in another installation, reached through execnet.

One gateway for a run, and one conversation on it: requests have numbers, and all that goes over is builtin values.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import execnet

import conformance
from conformance._util.processes import MOST_CROWDED
from conformance.api import errors
from conformance.api.errors import DeviceBroken, DeviceEnded, HarnessError, MachineTooSlow, SubjectError, TargetUnable
from conformance.devices import DeviceKind, Limits
from conformance.devices._child import Reply
from conformance.targets.gateway import Connected, Unreachable, connected, in_a_line

#: What a verb may take longer here than the most it gets there: the way of its values, and the stack of what hangs.
_GRACE_SECONDS = 60.0
#: A backend may be built there, as ``prepare()`` allows.
_PREPARE_SECONDS = 1000.0
#: After so many failures in a row no more is tried: each may take as long as a network takes to give up.
_MOST_FAILURES = 3
#: Errors of the harness there that mean something here.
_KEPT = {each.__name__: each for each in (DeviceBroken, MachineTooSlow)}
_SERVE = "from conformance.targets.far import serve; serve(channel)"


class Backend(Protocol):
    """What a pool has to know of a backend to have it prepared elsewhere, of what its Description says."""

    @property
    def source(self) -> Any: ...

    @property
    def prepared(self) -> dict[str, str | None]: ...

    def subject(self) -> dict[str, Any]: ...


class RemotePool:
    """Makes devices elsewhere. ``spec`` is execnet's (``ssh=user@host//python=...``), of which only ``kind`` is told.

    The connection is made at the first fork, or by :meth:`connect`, and again after it was lost.
    """

    def __init__(self, spec: str, kind: str, limits: Limits) -> None:
        self._spec = spec
        self.kind = kind
        self._limits = limits
        self._backends: list[Backend] = []
        self._connection: _Connection | None = None
        self._failures: list[Unreachable] = []
        self._devices = itertools.count(1)
        #: What is there: the versions of torch, Python, the platform, and of the backends.
        self.facts: dict[str, str] = {}

    def expect(self, backends: Sequence[Backend]) -> None:
        """Have these backends prepared at each connection."""
        self._backends = list(backends)

    def connect(self) -> _Connection:
        """The connection, made now if there is none. Raises Unreachable, with the remedy."""
        if self._connection is not None and self._connection.alive:
            return self._connection
        if len(self._failures) >= _MOST_FAILURES:
            raise self._failures[-1]
        self.close()
        try:
            self._connection = self._connected()
        except Unreachable as error:
            self._failures.append(error)
            raise
        self._failures.clear()
        return self._connection

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> _RemoteChild:
        """A child there. What this machine prepared (paths, as a rule) is replaced by what that one did.

        Raises Unreachable where the connection was lost and cannot be had again.
        """
        try:
            connection = self.connect()
        except Unreachable as error:  # of a cell, whose message is published
            raise Unreachable(error.public) from error
        device = next(self._devices)
        backend = self._number_of(subject)
        if backend is not None:
            prepared = self._backends[backend].prepared
            environment = {name: value for name, value in environment.items() if prepared.get(name, ...) != value}
        limits = limits or self._limits
        connection.post(
            "fork",
            device=device,
            toolchain=kind.toolchain,
            role=kind.role,
            backend=backend,
            subject=None if backend is not None else subject,
            environment=environment,
            limits=dataclasses.asdict(limits),
        )
        return _RemoteChild(connection, device, limits)

    def close(self) -> None:
        """End the far side, and everything that it forked."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _number_of(self, subject: dict[str, Any] | None) -> int | None:
        if subject is None:
            return None
        return next((number for number, each in enumerate(self._backends) if each.subject() == subject), None)

    def _connected(self) -> _Connection:
        far = connected(self._spec, self.kind)
        try:
            self.facts = _checked(far.facts)
            connection = _Connection(far)
            self._prepare(connection)
        except (OSError, EOFError, execnet.RemoteError, HarnessError) as error:
            far.close()
            if isinstance(error, Unreachable):
                raise
            raise Unreachable("the Python of the target does not answer", in_a_line(error)) from error
        except BaseException:
            far.close()
            raise
        return connection

    def _prepare(self, connection: _Connection) -> None:
        told = []
        for number, backend in enumerate(self._backends):
            source = backend.source
            try:
                library = Path(source.library).read_bytes() if source.library else None
            except OSError as error:
                name = Path(source.library).name
                raise Unreachable(f"{name} cannot be sent to the target: {error.strerror}") from error
            found = connection.request(
                "prepare", _PREPARE_SECONDS, backend=number, source=dataclasses.asdict(source), library=library
            )
            if found["problem"]:
                raise Unreachable(
                    f"the backend {source.name!r} cannot be used on the target: {found['problem']}. Install "
                    f"{source.distribution or 'what its library needs'} for the Python there"
                )
            told.append(f"{source.name} {found['version']}".strip())
        if told:
            self.facts["backends"] = ", ".join(told)


class _Connection:
    """Requests to a far side, and their answers."""

    def __init__(self, far: Connected) -> None:
        self._far = far
        self._channel = far.gateway.remote_exec(_SERVE)
        self._numbers = itertools.count(1)
        #: Posts that failed there are told with the next answer about their device.
        self._posted: dict[int, tuple[int, str]] = {}
        self._problems: dict[int, dict[str, Any]] = {}
        self.alive = True

    def post(self, operation: str, **arguments: Any) -> None:
        """Send a request about a device and do not wait; should it fail, the device's next answer says so."""
        number = self._send(operation, arguments)
        self._posted[number] = arguments["device"], operation

    def request(self, operation: str, patience: float, **arguments: Any) -> Any:
        """Send a request and wait for its answer. Raises what it came to there, HarnessError for a lost connection."""
        number = self._send(operation, arguments)
        while True:
            came, message = self._receive(patience)
            if came == number:
                break
            device, posted = self._posted.pop(came, (0, ""))
            if "value" not in message and posted != "end":
                self._problems.setdefault(device, message)
        return _value_of(self._problems.pop(arguments.get("device", 0), message))

    def close(self) -> None:
        self.alive = False
        with contextlib.suppress(OSError):
            self._channel.close()
        self._far.close()

    def _send(self, operation: str, arguments: dict[str, Any]) -> int:
        number = next(self._numbers)
        try:
            self._channel.send((number, operation, arguments))
        except OSError as error:
            self._lost(error)
        return number

    def _receive(self, seconds: float) -> tuple[int, dict[str, Any]]:
        try:
            number, message = self._channel.receive(seconds + _GRACE_SECONDS)
        except (EOFError, OSError, execnet.RemoteError, execnet.TimeoutError) as error:
            self._lost(error)
        return number, message

    def _lost(self, error: Exception) -> Any:
        self.alive = False
        raise HarnessError(
            f"the connection to the target was lost, which says nothing of the backend: {in_a_line(error)}"
        ) from error


class _RemoteChild:
    """A device elsewhere. Every method raises what a Child there raised."""

    def __init__(self, connection: _Connection, device: int, limits: Limits) -> None:
        self._connection = connection
        self._device = device
        self._limits = limits

    def ask(self, verb: str, arguments: dict[str, Any]) -> None:
        """Ask for a verb; :meth:`answer` waits for what comes of it."""
        self._connection.post("ask", device=self._device, verb=verb, arguments=arguments)

    def answer(self, phase: str, seconds: float | None = None) -> Reply:
        """Wait for the answer to the last request; the time limit is kept there, and here as far as it may be stretched
        there, with a grace."""
        limit = self._limits.seconds if seconds is None else seconds
        most = limit * MOST_CROWDED
        fields = self._connection.request("answer", most, device=self._device, phase=phase, seconds=seconds)
        return Reply(**{**fields, "warnings": tuple(fields["warnings"])})

    def leave(self, phase: str) -> bool:
        """Let the process end as a script does; whether it left others behind."""
        most = self._limits.seconds * MOST_CROWDED
        left: bool = self._connection.request("leave", most, device=self._device, phase=phase)
        return left

    def end(self) -> None:
        """Kill the process there; safe to call at any time."""
        if self._connection.alive:
            with contextlib.suppress(HarnessError):
                self._connection.post("end", device=self._device)


def _value_of(message: dict[str, Any]) -> Any:
    if "value" in message:
        return message["value"]
    if "came to" in message:
        kind = getattr(errors, message["came to"])
        assert issubclass(kind, (DeviceEnded, SubjectError))
        raise kind(**message["fields"])
    if "unable" in message:
        raise TargetUnable(message["unable"])
    kind = _KEPT.get(message.get("type", ""), HarnessError)
    raise kind(f"the harness on the target failed: {message['broken']}")


def _checked(facts: dict[str, Any]) -> dict[str, str]:
    """What a report says of the target. Raises Unreachable for what is missing, and for another harness."""
    python = f"the Python of the target ({facts['python']})"
    here = conformance.__version__
    if facts["torch"] is None:
        raise Unreachable(f"{python} has no torch; install it there")
    if facts["harness"] is None or (facts["harness"] == here and facts["harness_problem"]):
        problem = facts["harness_problem"]
        raise Unreachable(f"{python} has no torch-conformance ({problem}); install torch-conformance=={here} there")
    if facts["harness"] != here:
        raise Unreachable(
            f"{python} has torch-conformance {facts['harness']}, and here it is {here}; install the same version there"
        )
    return {name: facts[name] for name in ("torch", "python", "platform")}
