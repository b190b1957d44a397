"""Whether the conditions of a mutant hold, asked while it is at work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from torch_conformance_saboteurs.mutants.grammar import TENSOR_AXES
from torch_conformance_saboteurs.mutants.operators import spoken_of


def plain_tensors(value: Any) -> Iterator[Tensor]:
    """Every ordinary tensor of a value, containers included; not those that stand for others while something traces."""
    if isinstance(value, Tensor):
        if type(value) in (Tensor, torch.nn.Parameter) and not torch._is_functional_tensor(value):
            yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from plain_tensors(item)
    elif isinstance(value, dict):
        yield from plain_tensors(list(value.values()))


def _real(tensor: Tensor) -> bool:
    return not tensor.is_complex() and tensor.dtype is not torch.bool


def _some(found: Tensor) -> bool:
    return bool(found.any())


def _power_of_two(count: int) -> bool:
    return count >= 4 and count & (count - 1) == 0


def _prime(count: int) -> bool:
    return count > 1 and all(count % each for each in range(2, math.isqrt(count) + 1))


def _repeated(tensor: Tensor) -> bool:
    return tensor.numel() > 1 and not _some(tensor != tensor.flatten()[0])


def _extreme(tensor: Tensor) -> bool:
    limits = torch.finfo(tensor.dtype) if tensor.is_floating_point() else torch.iinfo(tensor.dtype)
    return _some(tensor == limits.max) or (tensor.dtype != torch.uint8 and _some(tensor == limits.min))


def _denormal(tensor: Tensor) -> bool:
    return _some((tensor != 0) & (tensor.abs() < torch.finfo(tensor.dtype).tiny))


def _dense(tensor: Tensor) -> bool:
    return bool(torch._prims_common.is_non_overlapping_and_dense_or_false(tensor))


SIZES: dict[str, Callable[[int], bool]] = {
    "empty": lambda count: count == 0,
    "one": lambda count: count == 1,
    "odd": lambda count: count > 1 and count % 2 == 1,
    "prime": _prime,
    "power of two": _power_of_two,
    "beside a power of two": lambda count: count >= 7 and (_power_of_two(count + 1) or _power_of_two(count - 1)),
    "over 1024": lambda count: count > 1024,
    "over 32768": lambda count: count > 32768,
}
LAYOUTS: dict[str, Callable[[Tensor], bool]] = {
    "transposed": lambda tensor: tensor.dim() > 1 and not tensor.is_contiguous() and _dense(tensor),
    "stepped": lambda tensor: 0 not in tensor.stride() and tensor.numel() > 1 and not _dense(tensor),
    "offset": lambda tensor: tensor.storage_offset() > 0,
    "expanded": lambda tensor: any(
        step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True)
    ),
    "channels_last": lambda tensor: (
        tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()
    ),
}
#: Of tensors that are real and not empty.
VALUES: dict[str, Callable[[Tensor], bool]] = {
    "zero": lambda tensor: _some(tensor == 0),
    "all zero": lambda tensor: not _some(tensor != 0),
    "negative zero": lambda tensor: tensor.is_floating_point() and _some((tensor == 0) & tensor.signbit()),
    "negative": lambda tensor: tensor.dtype != torch.uint8 and bool((tensor < 0).all()),
    "ties": lambda tensor: tensor.numel() > 1 and int((tensor == tensor.max()).sum()) > 1,
    "repeated": _repeated,
    "infinite": lambda tensor: _some(tensor.isinf()),
    "NaN": lambda tensor: _some(tensor.isnan()),
    "extreme": _extreme,
    "denormal": lambda tensor: tensor.is_floating_point() and _denormal(tensor),
    "large": lambda tensor: (
        _some(tensor.abs() > 2**24)
        if tensor.dtype in (torch.float32, torch.float64, torch.int32, torch.int64)
        else tensor.dtype == torch.bfloat16 and _some(tensor.abs() > 1e4)
    ),
    "halves": lambda tensor: tensor.is_floating_point() and _some((tensor - tensor.floor()) == 0.5),
    "ones": lambda tensor: not _some(tensor != 1),
    "sorted": lambda tensor: tensor.dim() > 0 and tensor.numel() > 2 and bool((tensor.flatten().diff() > 0).all()),
}


def _has_values(tensor: Tensor, values: str) -> bool:
    if tensor.numel() == 0:
        return False
    if not _real(tensor):
        return values in ("zero", "all zero") and VALUES[values](tensor)
    return VALUES[values](tensor)


_OF_A_TENSOR: dict[str, Callable[[Tensor, str], bool]] = {
    "dtype": lambda tensor, value: str(tensor.dtype) == f"torch.{value}",
    "rank": lambda tensor, value: tensor.dim() == int(value),
    "size": lambda tensor, value: SIZES[value](tensor.numel()),
    "layout": lambda tensor, value: LAYOUTS[value](tensor),
    "values": _has_values,  # last: it reads memory
}


def tensors_match(when: dict[str, str], tensors: Sequence[Tensor]) -> bool:
    """Whether one of the tensors has everything that is said of a tensor; True where nothing is."""
    asked = [(check, when[axis]) for axis, check in _OF_A_TENSOR.items() if axis in when]
    return not asked or any(all(check(each, value) for check, value in asked) for each in tensors)


def operands_match(when: dict[str, str], arguments: Sequence[Any]) -> bool:
    """Whether the operands of an operator, or the arguments of a graph, are together as is said."""
    wanted = when.get("operands")
    if wanted is None:
        return True
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    if wanted == "Python scalar":
        return bool(tensors) and any(isinstance(each, int | float) for each in arguments[1:2])
    if len(tensors) < 2:
        return False
    one, other = tensors[:2]
    if wanted == "mixed dtypes":
        return one.dtype != other.dtype
    if wanted == "0-dim beside others":
        return (one.dim() == 0) != (other.dim() == 0)
    if wanted == "one tensor twice":
        return one.is_set_to(other)
    if wanted == "shared memory":
        return one.numel() > 0 and not one.is_set_to(other) and share_memory(one, other)
    return one.shape != other.shape  # broadcast


def share_memory(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors lie in one storage."""
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def operator_matches(when: dict[str, str], kernel: str) -> bool:
    """Whether PyTorch's name of an operator is among those that are meant."""
    return "operator" not in when or when["operator"] in spoken_of(kernel)


def mode_matches(when: dict[str, str], grad: bool) -> bool:
    """Whether PyTorch is in the mode that is meant; ``grad`` is grad mode as the caller has it."""
    wanted = when.get("mode")
    if wanted == "grad":
        return grad
    if wanted == "no_grad":
        return not grad and not torch.is_inference_mode_enabled()
    if wanted == "inference":
        return torch.is_inference_mode_enabled()
    if wanted == "autocast":
        return torch.is_autocast_enabled("cpu")
    if wanted == "default dtype":
        return torch.get_default_dtype() is not torch.float32
    return wanted is None or torch.are_deterministic_algorithms_enabled()


def outputs_match(when: dict[str, str], results: Sequence[Any], inputs: Sequence[Tensor]) -> bool:
    """Whether the results of a graph are together, and beside its inputs, as is said."""
    wanted = when.get("outputs")
    tensors = list(plain_tensors(list(results)))
    if wanted == "several":
        return len(tensors) > 1
    if wanted == "an input":
        return any(each is other for each in tensors for other in inputs)
    if wanted == "a view of an input":
        return any(
            each is not other and each.numel() and share_memory(each, other) for each in tensors for other in inputs
        )
    if wanted == "one twice":
        return any(each is other for index, each in enumerate(tensors) for other in tensors[:index])
    return True


assert set(_OF_A_TENSOR) == set(TENSOR_AXES)
