"""Where the target of a cell runs: what ``--conformance-target`` can say."""

from __future__ import annotations

from importlib import metadata

from conformance.devices import Pool

LOCAL = "local"
NATIVE = "native"
#: Each kind of target, with what it is.
KINDS = {
    LOCAL: "a fresh process with Python on this machine",
    NATIVE: "a program without Python on this machine",
}


class TargetError(Exception):
    """A target was asked for that is not known, or that cannot be had here; the text says what there is."""


def target_pool(spec: str, local: Pool, native: Pool) -> Pool:
    """Where targets come from. Raises TargetError for a spec that is not understood."""
    if spec == LOCAL:
        return local
    if spec == NATIVE:
        return native
    # Targets on other machines (execnet's specs, "ssh=...//python=...") belong here.
    known = "; ".join(f"{kind!r}, {what}" for kind, what in KINDS.items())
    raise TargetError(f"--conformance-target {spec!r} is no target. There is: {known}")


def described_target(spec: str) -> dict[str, str]:
    """What a report says of the target."""
    return {"spec": spec, "torch": metadata.version("torch")}
