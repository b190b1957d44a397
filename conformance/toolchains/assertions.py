"""What clauses of several toolchains assert with."""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.toolchains.client import CellDevice

__all__ = ["assert_pytorch_unchanged"]

#: So many changes are named.
_SHOWN = 6


def assert_pytorch_unchanged(device: CellDevice, bare: CellDevice, after: str) -> None:
    """PyTorch itself is the same as in a process without the backend: what PyTorch changes by itself in both, and new
    names, such as those of a backend's own operators, count for nothing."""
    found = device.pytorch_changes([])
    expected = bare.pytorch_changes(found.imported)
    changed = [f"{name}: {text}" for name, text in sorted(found.changes.items()) if expected.changes.get(name) != text]
    changed += [
        f"{name}: expected {expected.later[name]}, found {text}"
        for name, text in sorted(found.later.items())
        if name in expected.later and expected.later[name] != text
    ]
    # A table of a compiler's says what becomes of PyTorch's operators: an entry more is a change.
    changed += [
        f"{name}: expected nothing, found {text}"
        for name, text in sorted(found.later.items())
        if name.endswith("]") and name not in expected.later
    ]
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    check(not changed, f"{after}, PyTorch is changed for everybody in the process: {'; '.join(changed[:_SHOWN])}{more}")
