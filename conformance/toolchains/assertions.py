"""Assertions that clauses of several toolchains share."""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.toolchains.client import CellDevice
from conformance.toolchains.shared_state import VARIABLE

__all__ = ["assert_pytorch_unchanged", "is_variable_of_others"]

#: The beginnings of variables that are read by PyTorch, Python, the dynamic loader, or libraries that others share. A
#: variable with an underscore before one of these is private to whoever sets it.
_READ_BY_OTHERS = (
    *("ATEN_", "BLIS_", "CUDA_", "GOMP_", "HOME", "KMP_", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "NCCL_", "OMP_"),
    *("ONEDNN_", "OPENBLAS_", "PATH", "PYTHON", "PYTORCH_", "TBB_", "TMP", "TORCH", "TRITON_", "TZ", "XDG_"),
)
#: What PyTorch sets when its compiler is imported, as the first call of a delegate may do: the folder of Inductor's
#: cache (torch/_inductor/runtime/cache_dir_utils.py).
_SET_BY_PYTORCH = ("TORCHINDUCTOR_CACHE_DIR",)

#: How many changes a failure names.
_SHOWN = 6


def assert_pytorch_unchanged(device: CellDevice, bare: CellDevice, after: str) -> None:
    """PyTorch itself is the same as in the process ``bare``, without the backend. What PyTorch changes by itself in
    both, and new names, such as those of a backend's own operators, do not count."""
    found = device.pytorch_changes([])
    expected = bare.pytorch_changes(found.imported)
    changed = [f"{name}: {text}" for name, text in sorted(found.changes.items()) if expected.changes.get(name) != text]
    changed += [
        f"{name}: expected {expected.later[name]}, found {text}"
        for name, text in sorted(found.later.items())
        if name in expected.later and expected.later[name] != text
    ]
    # A name that ends with "]" is an entry of a compiler's table of operators, where a new one changes what it does.
    changed += [
        f"{name}: expected nothing, found {text}"
        for name, text in sorted(found.later.items())
        if name.endswith("]") and name not in expected.later
    ]
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    check(not changed, f"{after}, PyTorch is changed for everybody in the process: {'; '.join(changed[:_SHOWN])}{more}")


def is_variable_of_others(name: str) -> bool:
    """Whether code other than the backend's may read what ``name`` stands for, once it is there: false only for an
    environment variable ("the variable NAME") that is the backend's own, or that PyTorch itself sets."""
    if not name.startswith(VARIABLE):
        return True
    variable = name.removeprefix(VARIABLE)
    return variable.startswith(_READ_BY_OTHERS) and variable not in _SET_BY_PYTORCH
