"""What clauses of every toolchain assert with: each builds the text of its failure from what was expected, found, and
where."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from conformance.api.availability import is_as_expected
from conformance.api.errors import ConformanceFailure, DeviceDied, SubjectError
from conformance.compare.comparison import assert_close, assert_equal, describe, is_equal
from conformance.compare.values import tensors_in

__all__ = [
    "Refusal",
    "assert_as_expected",
    "assert_close",
    "assert_contiguous_like",
    "assert_equal",
    "assert_names",
    "assert_requires_grad_like",
    "assert_requires_no_grad",
    "assert_strides_like",
    "assert_types_like",
    "check",
    "is_equal",
    "leaves_of",
    "refused",
]


def check(holds: bool, otherwise: str) -> None:
    """Raise ConformanceFailure with the text unless it holds."""
    if not holds:
        raise ConformanceFailure(otherwise)


@dataclasses.dataclass
class Refusal:
    """What a refusal said; filled when the block of :func:`refused` ends."""

    what: str
    type: str = ""
    text: str = ""
    error: SubjectError | None = None

    def is_a(self, name: str) -> bool:
        """Whether it was an exception whose class, or a base of that, has this name (``torch.jit.Error``)."""
        return self.error is not None and self.error.is_a(name)


@contextlib.contextmanager
def refused(what: str, *, even_by_ending: bool = False) -> Iterator[Refusal]:
    """Within the block something must be refused with an exception.

    With ``even_by_ending`` the process may also end with a message, as PyTorch does for a second registration.
    Raises ConformanceFailure when nothing is refused, or the exception has no text.
    """
    refusal = Refusal(what)
    try:
        yield refusal
    except SubjectError as error:
        refusal.type, refusal.text, refusal.error = error.type, error.text, error
        check(bool(error.text.strip()), f"{what}: refused with {error.type}, which says nothing")
        return
    except DeviceDied as error:
        if not even_by_ending:
            raise
        refusal.type, refusal.text = str(error.signal or error.exit_code), error.stderr
        return
    raise ConformanceFailure(f"{what}: expected an error, but it was accepted")


def assert_names(refusal: Refusal, name: str) -> None:
    """The refusal's text holds the name."""
    check(name in refusal.text, f"{refusal.what}: the error does not name {name!r}: {refusal.text.strip():.300}")


def assert_as_expected(expected: Mapping[str, str], observed: Mapping[str, str]) -> None:
    """Every step of a row of a behaviour table came to what it should. Raises ConformanceFailure naming those that did
    not."""
    differences = [
        f"{step}: expected {expected.get(step, 'nothing')}, observed {observed.get(step, 'nothing')}"
        for step in {**expected, **observed}
        if not is_as_expected(expected.get(step), observed.get(step))
    ]
    if differences:
        raise ConformanceFailure("; ".join(differences))


def assert_strides_like(actual: Any, expected: Any, where: str) -> None:
    """Each tensor has the strides of its counterpart, where these say where an element lies."""
    for index, (mine, theirs) in enumerate(zip(tensors_in(actual), tensors_in(expected), strict=True)):
        found, wanted = _telling_strides(mine), _telling_strides(theirs)
        check(found == wanted, f"{where}, tensor {index}: expected strides {theirs.stride()}, found {mine.stride()}")


def assert_contiguous_like(actual: Any, expected: Any, where: str) -> None:
    """Each tensor of ``actual`` is contiguous where that of ``expected`` is."""
    for index, (mine, theirs) in enumerate(zip(leaves_of(actual), leaves_of(expected), strict=False)):
        if isinstance(mine, torch.Tensor) and isinstance(theirs, torch.Tensor) and theirs.is_contiguous():
            check(
                mine.is_contiguous(),
                f"{where}, tensor {index}: expected contiguous strides {theirs.stride()}, found {mine.stride()}",
            )


def assert_requires_grad_like(actual: Any, expected: Any, where: str) -> None:
    """No tensor of ``actual`` requires grad where that of ``expected`` does not."""
    for index, (mine, theirs) in enumerate(zip(leaves_of(actual), leaves_of(expected), strict=False)):
        if isinstance(mine, torch.Tensor) and isinstance(theirs, torch.Tensor):
            check(theirs.requires_grad or not mine.requires_grad, f"{where}, tensor {index}: requires grad")


def assert_requires_no_grad(actual: Any, where: str) -> None:
    """No tensor of ``actual`` requires grad, whatever eager PyTorch's does outside of a guard."""
    for index, leaf in enumerate(leaves_of(actual)):
        check(not (isinstance(leaf, torch.Tensor) and leaf.requires_grad), f"{where}, tensor {index}: requires grad")


def assert_types_like(actual: Any, expected: Any, where: str) -> None:
    """The types of the two values agree, containers and their elements included."""
    mine, theirs = _shape_of_types(actual), _shape_of_types(expected)
    check(mine == theirs, f"{where}: expected the types {theirs}, found {mine} ({describe(actual)})")


def _telling_strides(tensor: torch.Tensor) -> list[int]:
    if tensor.numel() == 0:
        return []
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def leaves_of(value: Any) -> list[Any]:
    """What a value has in its containers, in their order; the value itself where it is none."""
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in leaves_of(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves_of(item)]
    return [value]


def _shape_of_types(value: Any) -> str:
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_shape_of_types, value))}]"
    if isinstance(value, list):
        return f"List[{', '.join(dict.fromkeys(map(_shape_of_types, value)))}]"
    if isinstance(value, dict):
        return f"Dict[{', '.join(dict.fromkeys(map(_shape_of_types, value.values())))}]"
    return type(value).__name__
