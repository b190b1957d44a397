"""What clauses of every toolchain hold values against values with; see also :mod:`conformance.api.assertions`."""

from __future__ import annotations

from typing import Any

import torch

from conformance.api.assertions import check
from conformance.compare.comparison import assert_close, assert_equal, describe, is_equal
from conformance.compare.values import telling_strides, tensors_in

__all__ = [
    "assert_close",
    "assert_contiguous_like",
    "assert_equal",
    "assert_requires_grad_like",
    "assert_requires_no_grad",
    "assert_strides_like",
    "assert_types_like",
    "is_equal",
    "leaves_of",
]


def assert_strides_like(actual: Any, expected: Any, where: str) -> None:
    """Each tensor has the strides of its counterpart, where these say where an element lies."""
    all_of_mine, all_of_theirs = tensors_in(actual), tensors_in(expected)
    check(
        len(all_of_mine) == len(all_of_theirs),
        f"{where}: expected {len(all_of_theirs)} tensors, found {describe(actual)}",
    )
    for index, (mine, theirs) in enumerate(zip(all_of_mine, all_of_theirs, strict=True)):
        due = f"{where}, tensor {index}: expected strides {theirs.stride()}"
        check(_has_strides(mine), f"{due}, found {describe(mine)}")
        check(telling_strides(mine) == telling_strides(theirs), f"{due}, found {mine.stride()}")


def assert_contiguous_like(actual: Any, expected: Any, where: str) -> None:
    """Each tensor of ``actual`` is contiguous where that of ``expected`` is."""
    for index, (mine, theirs) in enumerate(zip(leaves_of(actual), leaves_of(expected), strict=False)):
        if isinstance(mine, torch.Tensor) and isinstance(theirs, torch.Tensor) and theirs.is_contiguous():
            due = f"{where}, tensor {index}: expected contiguous strides {theirs.stride()}"
            check(_has_strides(mine), f"{due}, found {describe(mine)}")
            check(mine.is_contiguous(), f"{due}, found {mine.stride()}")


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


def _has_strides(tensor: torch.Tensor) -> bool:
    """Whether a tensor has strides, which a nested or a sparse one has not."""
    return not tensor.is_nested and tensor.layout is torch.strided


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
