"""Where the target of a cell runs: what ``--conformance-target`` can say."""

from __future__ import annotations

from importlib import metadata

import execnet

from conformance.devices import Pool, ZygotePool
from conformance.devices._remote import RemotePool

LOCAL = "local"
NATIVE = "native"
#: Each kind of target, with what it is.
KINDS = {
    LOCAL: "a fresh process with Python on this machine",
    NATIVE: "a program without Python on this machine",
    "ssh=USER@HOST//python=PATH": "a Python elsewhere, by any specification of execnet (ssh=, popen, socket=)",
}
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


class TargetError(Exception):
    """A target was asked for that is not known, or that cannot be had here; the text says what there is."""


def target_pool(spec: str, local: ZygotePool, native: Pool) -> Pool:
    """Where targets come from. Raises TargetError for a spec that is not understood."""
    if spec == LOCAL:
        return local
    if spec == NATIVE:
        return native
    return RemotePool(spec, published_spec(spec), local.limits)


def published_spec(spec: str) -> str:
    """What a report may say of a spec: its kind alone. Raises TargetError for a spec that is not understood."""
    if spec in (LOCAL, NATIVE):
        return spec
    try:
        return _connection(execnet.XSpec(spec))
    except (AttributeError, ValueError, IndexError) as error:
        known = "; ".join(f"{kind!r}, {what}" for kind, what in KINDS.items())
        raise TargetError(f"--conformance-target {spec!r} is no target ({error}). There is: {known}") from error


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


def described_target(spec: str, pool: Pool) -> dict[str, str]:
    """What a report says of the target."""
    if isinstance(pool, RemotePool):
        return {"spec": pool.kind, **pool.facts}
    return {"spec": spec, "torch": metadata.version("torch")}
