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
#: What execnet connects by. A report names one of these, and neither host nor user nor path.
_CONNECTIONS = ("ssh", "vagrant_ssh", "socket", "popen")


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
    known = "; ".join(f"{kind!r}, {what}" for kind, what in KINDS.items())
    try:
        found = execnet.XSpec(spec)
    except (AttributeError, ValueError, IndexError) as error:
        raise TargetError(f"--conformance-target {spec!r} is no target ({error}). There is: {known}") from error
    for connection in _CONNECTIONS:
        if getattr(found, connection):
            return connection
    raise TargetError(f"--conformance-target {spec!r} is no target. There is: {known}")


def described_target(spec: str, pool: Pool) -> dict[str, str]:
    """What a report says of the target."""
    if isinstance(pool, RemotePool):
        return {"spec": pool.kind, **pool.facts}
    return {"spec": spec, "torch": metadata.version("torch")}
