"""A sample's tensors, changed along one axis: other layouts, sizes and values than PyTorch's own samples have.

Whether an operator takes what comes of it is PyTorch's to say.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from conformance.api import features

#: What an element of a floating-point tensor may become.
_SPECIAL = {
    "nan": float("nan"),
    "inf": float("inf"),
    "minus_inf": float("-inf"),
    "minus_zero": -0.0,
    "zeros": 0.0,
    "ones": 1.0,
}
#: The values that a floating-point tensor is given: most often those about which backends differ most.
_DRAWN = (*_SPECIAL, "extremes", "tiny", "nan", "nan", "nan", "inf")


def varied(
    tensors: Sequence[Tensor], draw: random.Random, *, pointwise: bool, layouts: bool = True
) -> tuple[list[Tensor], str]:
    """The tensors, changed in one way, and what that is, as ``axis=value``.

    Whole numbers become extremes only of ``pointwise`` operators: elsewhere they may be sizes. Without ``layouts`` they
    lie in memory as they did.
    """
    changes: dict[str, Callable[[], list[Tensor]]] = {
        "layout=transposed": lambda: [_transposed(each) for each in tensors],
        "layout=stepped": lambda: [_stepped(each) for each in tensors],
        "layout=offset": lambda: [_offset(each) for each in tensors],
        "layout=expanded": lambda: [_expanded(tensors[0]), *tensors[1:]],
        "size=empty": lambda: _cut(tensors, 0),
        "size=1": lambda: _cut(tensors, 1),
        "size=rank 0": lambda: [each.flatten()[0].clone() if each.numel() else each for each in tensors],
        "value=special": lambda: list(tensors),
    }
    if not layouts:
        changes = {name: change for name, change in changes.items() if not name.startswith("layout=")}
    change = draw.choice([*changes, "value=special", "value=special", "value=special"])
    if change != "value=special":
        return changes[change](), change
    place = draw.randrange(len(tensors))
    value, changed = _with_special(tensors[place], draw, pointwise=pointwise)
    return [*tensors[:place], changed, *tensors[place + 1 :]], f"value={value}"


def needed_features(tensors: Sequence[Tensor]) -> list[str]:
    """The features that a backend needs to take these tensors, beside their dtypes."""
    found = []
    dense = [each for each in tensors if each.layout is torch.strided and not each.is_quantized]
    if any(each.numel() == 0 for each in dense):
        found.append(features.empty.name)
    if any(each.dim() == 0 for each in dense):
        found.append(features.zero_dim.name)
    if not all(each.is_contiguous() for each in dense):
        found.append(features.non_contiguous.name)
    # of dtypes of eight bits PyTorch cannot say it (torch 2.13)
    if any(each.dtype.itemsize > 1 and not bool(each.isfinite().all()) for each in dense):
        found.append(features.non_finite.name)
    if len({each.dtype for each in dense}) > 1:
        found.append(features.mixed_dtypes.name)
    if len({each.shape for each in dense}) > 1:
        found.append(features.broadcasting.name)
    if any(each.numel() >= 1 << 15 for each in dense):
        found.append(features.large.name)
    return found


def _is_dense(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_quantized and tensor.dim() > 0


def _transposed(tensor: Tensor) -> Tensor:
    if not _is_dense(tensor) or tensor.dim() < 2:
        return _stepped(tensor)
    return tensor.movedim(-1, 0).contiguous().movedim(0, -1)


def _stepped(tensor: Tensor) -> Tensor:
    if not _is_dense(tensor):
        return tensor
    wider = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]))
    wider[..., ::2] = tensor
    return wider[..., ::2]


def _offset(tensor: Tensor) -> Tensor:
    if not _is_dense(tensor):
        return tensor
    longer = tensor.new_zeros(tensor.numel() + 3)
    longer[3:] = tensor.flatten()
    return longer[3:].view(tensor.shape)


def _expanded(tensor: Tensor) -> Tensor:
    return tensor[:1].clone().expand_as(tensor) if _is_dense(tensor) and tensor.numel() else tensor


def _cut(tensors: Sequence[Tensor], size: int) -> list[Tensor]:
    """The tensors with less of the first dimension, those that have as much of it as the first tensor."""
    first = tensors[0]
    if not _is_dense(first) or first.shape[0] <= size:
        return list(tensors)
    length = first.shape[0]
    return [each[:size].clone() if _is_dense(each) and each.shape[0] == length else each for each in tensors]


def _with_special(tensor: Tensor, draw: random.Random, *, pointwise: bool) -> tuple[str, Tensor]:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.dtype == torch.bool or tensor.numel() == 0:
        return "ordinary", tensor
    if not (tensor.is_floating_point() or tensor.is_complex()):
        if not pointwise:
            return "ordinary", tensor
        limits = torch.iinfo(tensor.dtype)
        return "extremes", _scattered(tensor, [limits.min, limits.max, 0], draw)
    kind = draw.choice(_DRAWN)
    if kind in _SPECIAL:
        return kind, _scattered(tensor, [_SPECIAL[kind]], draw)
    info = torch.finfo(tensor.dtype)
    return kind, _scattered(tensor, [info.max, info.min] if kind == "extremes" else [info.tiny, info.tiny / 4], draw)


def _scattered(tensor: Tensor, values: Sequence[float], draw: random.Random) -> Tensor:
    """A copy in which some elements, one at least, have one of these values."""
    changed = tensor.clone(memory_format=torch.contiguous_format)
    flat = changed.view(-1)
    for place in {draw.randrange(flat.numel()) for _ in range(1 + flat.numel() // 8)}:
        flat[place] = draw.choice(values)
    return changed
