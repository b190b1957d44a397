"""Single operators, computed in unusual ways: padded, in float64, and what they would give where they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from torch_conformance_unusual.functional import is_alias, is_plain

#: What fewer elements than a multiple of it are padded to.
MULTIPLE = 16
_aten = torch.ops.aten
#: What the next number is, and how a number is taken apart, are questions about its dtype.
_ABOUT_THE_DTYPE = (_aten.nextafter.default, _aten.frexp.Tensor)
#: What is narrow again when it was computed in double.
_NARROW = {torch.float64: torch.float32, torch.complex128: torch.complex64}
_TAKES_A_DTYPE = ("dtype", "out_dtype", "input_dtype")


def is_pointwise(operator: Any) -> bool:
    """Whether an operator computes each element of its result from those at the same place in its arguments."""
    return is_plain(operator) and torch.Tag.pointwise in operator.tags and not is_alias(operator)


def layout_of(operator: Any, arguments: Any, keywords: Any) -> list[Tensor] | None:
    """What an operator's results look like, as tensors without values; None where that cannot be told without them."""
    try:
        results = operator(*_without_values(arguments), **_without_values(keywords))
    except (NotImplementedError, RuntimeError):
        return None
    leaves = pytree.tree_leaves(results)
    return leaves if all(isinstance(each, Tensor) for each in leaves) else None


def with_strides(tensor: Tensor, strides: Sequence[int]) -> Tensor:
    """A tensor of these values with these strides, which overlap nowhere; the tensor itself where it has them."""
    if tensor.stride() == tuple(strides):
        return tensor
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)


def padded(operator: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """An operator's results, computed of flat tensors whose length is a multiple of :data:`MULTIPLE`, where its
    arguments have one shape; of matrices padded with zeros, where it is a product; otherwise as ever."""
    tensors = [each for each in pytree.tree_leaves((arguments, keywords)) if isinstance(each, Tensor)]
    if operator is _aten.mm.default and all(_is_padded_exactly(each) for each in tensors):
        return _padded_product(*tensors)
    shapes = {tuple(each.shape) for each in tensors}
    if not is_pointwise(operator) or len(shapes) != 1 or () in shapes or keywords.get("memory_format") is not None:
        return operator(*arguments, **keywords)
    outline = layout_of(operator, arguments, keywords)
    (shape,) = shapes
    if outline is None or len(outline) != 1 or tuple(outline[0].shape) != shape:
        return operator(*arguments, **keywords)
    count = tensors[0].numel()
    longer = -(-count // MULTIPLE) * MULTIPLE

    def flat(each: Any) -> Any:
        if not isinstance(each, Tensor):
            return each
        return torch.cat([each.reshape(-1), torch.ones(longer - count, dtype=each.dtype)])

    result = operator(*pytree.tree_map(flat, tuple(arguments)), **pytree.tree_map(flat, dict(keywords)))
    # in memory of its own: who gets a view of what is longer cannot write to it where gradients are recorded
    own = torch.empty_strided(shape, outline[0].stride(), dtype=result.dtype)
    return own.copy_(result[:count].reshape(shape))


def _is_padded_exactly(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and tensor.numel() > 0


def _padded_product(left: Tensor, right: Tensor) -> Tensor:
    rows, inner = left.shape
    columns = right.shape[1]
    pads = [-size % MULTIPLE for size in (rows, inner, columns)]
    constant_pad = torch.nn.functional.pad
    product = constant_pad(left, (0, pads[1], 0, pads[0])) @ constant_pad(right, (0, pads[2], 0, pads[1]))
    return product[:rows, :columns].contiguous()


def in_double(operator: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """An operator's results, computed of float64 where it would have computed of float32, and rounded."""
    tensors = [each for each in pytree.tree_leaves((arguments, keywords)) if isinstance(each, Tensor)]
    floats = {each.dtype for each in tensors if each.is_floating_point()}
    if torch.float32 not in floats or floats - {torch.float32, torch.float64}:
        return operator(*arguments, **keywords)
    if not _is_done_in_double(operator, keywords):
        return operator(*arguments, **keywords)
    # not asked of the meta device, which tells other strides of some (reports/findings/eager_meta_strides.py)
    outline = pytree.tree_leaves(operator(*arguments, **keywords))
    results = operator(*_changed(arguments, _wide), **_changed(dict(keywords), _wide))
    leaves, structure = pytree.tree_flatten(results)
    return pytree.tree_unflatten([_narrow(each, like) for each, like in zip(leaves, outline, strict=True)], structure)


def _is_done_in_double(operator: Any, keywords: Mapping[str, Any]) -> bool:
    if not is_plain(operator) or is_alias(operator) or operator in _ABOUT_THE_DTYPE:
        return False
    named = {each.name for each in operator._schema.arguments}
    return named.isdisjoint(_TAKES_A_DTYPE) or (_aten.sum.dim_IntList is operator and keywords.get("dtype") is None)


def _wide(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.dtype == torch.float32 else tensor


def _narrow(tensor: Tensor | None, like: Tensor | None) -> Tensor | None:
    if tensor is None or like is None:
        return tensor  # a gradient that is not asked for
    if _NARROW.get(tensor.dtype) == like.dtype:
        tensor = tensor.to(like.dtype)
    return with_strides(tensor, like.stride()) if like.numel() and like.layout is torch.strided else tensor


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    return pytree.tree_map(lambda each: change(each) if isinstance(each, Tensor) else each, value)


def _without_values(value: Any) -> Any:
    return _changed(value, lambda each: torch.empty_strided(each.shape, each.stride(), dtype=each.dtype, device="meta"))
