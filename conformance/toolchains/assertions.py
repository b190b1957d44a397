"""What clauses of several toolchains assert with."""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.toolchains.client import CellDevice

__all__ = ["assert_pytorch_unchanged", "is_variable_of_others"]

#: How variables begin that are read by PyTorch, Python, the loader, and what computes for more than one library. One
#: with an underscore before it is its maker's own.
_READ_BY_OTHERS = (
    *("ATEN_", "BLIS_", "CUDA_", "GOMP_", "HOME", "KMP_", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "NCCL_", "OMP_"),
    *("ONEDNN_", "OPENBLAS_", "PATH", "PYTHON", "PYTORCH_", "TBB_", "TMP", "TORCH", "TRITON_", "TZ", "XDG_"),
)

#: What an environment's variable is called among what surrounds a call.
_VARIABLE = "the variable "
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


def is_variable_of_others(name: str) -> bool:
    """Whether more than the backend's own code may read a variable of the environment ("the variable NAME"); true of
    whatever else surrounds a call."""
    return not name.startswith(_VARIABLE) or name.removeprefix(_VARIABLE).startswith(_READ_BY_OTHERS)
