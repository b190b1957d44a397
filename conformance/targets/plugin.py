"""The targets that ship with the harness, as an extension gives them."""

from __future__ import annotations

from collections.abc import Sequence

import execnet

from conformance.devices import Pool, ZygotePool
from conformance.discovery.describing import Description
from conformance.hookspecs import hookimpl
from conformance.targets import LOCAL, NATIVE, Target, TargetKind
from conformance.targets.remote import RemotePool

#: What execnet connects by, with what each takes. A report names one of these, and neither host nor user nor path.
_CONNECTIONS = {
    "ssh": {"python", "ssh_config"},
    "vagrant_ssh": {"python", "ssh_config"},
    "socket": set[str](),
    "popen": {"python", "dont_write_bytecode"},
}
_PLACE = {"chdir", "nice"}
#: These say no more than that they are there.
_FLAGS = {"popen", "dont_write_bytecode"}


class RemoteTarget(Target):
    """A Python elsewhere, reached through execnet."""

    def __init__(self, spec: str, pool: RemotePool) -> None:
        super().__init__(spec, pool)
        self._remote = pool
        #: A socket server serves one connection, and each worker makes one.
        self.one_for_each_worker = pool.kind != "socket"

    def expect(self, descriptions: Sequence[Description]) -> None:
        """Have these backends prepared at each connection."""
        self._remote.expect(descriptions)

    def connect(self) -> None:
        """Make the connection now."""
        self._remote.connect()

    def close(self) -> None:
        """End the far side."""
        self._remote.close()

    def described(self) -> dict[str, str]:
        """The kind of connection, and the versions there: no host, user or path."""
        return {"spec": self._remote.kind, **self._remote.facts}


def _named(name: str, spec: str) -> str:
    if spec != name:
        raise ValueError
    return name


def _published(spec: str) -> str:
    try:
        return _connection(execnet.XSpec(spec))
    except (AttributeError, IndexError) as error:
        raise ValueError(str(error)) from error


def _connection(spec: execnet.XSpec) -> str:
    """By what execnet would connect. Raises ValueError for what it would stumble over, or pass over in silence: with a
    misspelt python= the target would be another one than was asked for."""
    said = {name: value for name, value in vars(spec).items() if name not in ("_spec", "env")}
    connections = [name for name in _CONNECTIONS if name in said]
    if len(connections) != 1:
        raise ValueError(f"expected one of {', '.join(_CONNECTIONS)}, found {' and '.join(connections) or 'none'}")
    (kind,) = connections
    taken = {kind} | _CONNECTIONS[kind] | _PLACE
    for name, value in said.items():
        if name not in taken:
            raise ValueError(f"{kind} takes {', '.join(sorted(taken - {kind}))} and env:NAME, found {name!r}")
        if name not in _FLAGS and (value is True or not value.strip()):
            raise ValueError(f"{name}= needs a value")
    if kind == "socket":
        host, _, port = said["socket"].partition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise ValueError("socket= takes HOST:PORT, and no address of IPv6")
    if not said.get("nice", "0").lstrip("-").isdecimal():
        raise ValueError("nice= takes a whole number")
    return kind


def _open_remote(spec: str, local: ZygotePool, native: Pool) -> Target:
    return RemoteTarget(spec, RemotePool(spec, _published(spec), local.limits))


@hookimpl
def conformance_targets() -> list[TargetKind]:
    """This machine, a program without Python, and any other Python that execnet reaches."""
    return [
        TargetKind(
            LOCAL,
            "a fresh process with Python on this machine",
            lambda spec: _named(LOCAL, spec),
            lambda spec, local, native: Target(LOCAL, local),
        ),
        TargetKind(
            NATIVE,
            "a program without Python on this machine",
            lambda spec: _named(NATIVE, spec),
            lambda spec, local, native: Target(NATIVE, native),
        ),
        TargetKind(
            "ssh=USER@HOST//python=PATH",
            "a Python elsewhere, by any specification of execnet (ssh=, popen, socket=)",
            _published,
            _open_remote,
        ),
    ]
