"""Going back from what a call gave: the gradients that this begins with, and those that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from conformance.compare.values import tensors_in
from conformance.generate.observe import differs

#: What AOT Autograd says of gradients of gradients, and PyTorch of a function that is ``once_differentiable``.
_REFUSES_TWICE = ("double backward", "differentiate twice")


def gradients_of(
    result: Any,
    leaves: list[torch.Tensor],
    upstream: str = "",
    given: list[torch.Tensor] | None = None,
    begin: str = "",
    *,
    again: bool = False,
    second: bool = False,
) -> list[torch.Tensor | None]:
    """Of each leaf the gradient of a weighted sum of the results; None where there is none. ``upstream``, ``begin``,
    ``again`` and ``second`` are what :class:`~conformance.generate.steps.Call` says; ``given`` gets the weights.

    If ``again`` or ``second``, what the first pass gave stands ahead of what the second did. A compiler may refuse that
    one, with an error that speaks of ``retain_graph``, or of double backward: then there is one pass.
    """
    wanted = [each for each in tensors_in(result) if each.requires_grad]
    if begin:
        wanted = wanted[:1] if begin == "first" else wanted[-1:]
    if not wanted or not leaves:
        return [None] * (len(leaves) * (2 if again or second else 1))
    weights = [_weights_for(each, upstream) for each in wanted]
    if given is not None:
        given += weights
    first: tuple[torch.Tensor | None, ...] = ()
    if again or second:
        try:
            first = torch.autograd.grad(
                wanted, leaves, weights, retain_graph=True, create_graph=second, allow_unused=True
            )
        except RuntimeError as error:
            if "retain_graph" not in str(error):
                raise
        else:
            if second:
                return [*first, *_gradients_of_gradients(first, leaves)]
            weights = [each / 2 for each in weights]
    return [*first, *torch.autograd.grad(wanted, leaves, weights, allow_unused=True)]


def _gradients_of_gradients(
    first: Sequence[torch.Tensor | None], leaves: list[torch.Tensor]
) -> Sequence[torch.Tensor | None]:
    """What comes of going back from gradients that can be, None where none can be; nothing where that is refused."""
    wanted = [each for each in first if each is not None and each.requires_grad]
    if not wanted:
        return [None] * len(leaves)
    try:
        return torch.autograd.grad(wanted, leaves, [_weights_for(each, "") for each in wanted], allow_unused=True)
    except RuntimeError as error:
        if not any(words in str(error) for words in _REFUSES_TWICE):
            raise
        return []


def no_longer_given(given: list[torch.Tensor], upstream: str = "") -> dict[str, torch.Tensor]:
    """The weights that a backward pass began with and has written to, by name."""
    named = {f"the gradient of result {place}": each for place, each in enumerate(given)}
    return {name: each for name, each in named.items() if differs(each, _weights_for(each, upstream))}


def _weights_for(tensor: torch.Tensor, upstream: str) -> torch.Tensor:
    # halves, which every dtype holds exactly, and none is one
    if upstream == "one value":
        return torch.full((), 1.5, dtype=tensor.dtype).expand(tensor.shape)
    count = torch.arange(tensor.numel(), dtype=torch.float64) % 5
    weights = (count / 2 + 1.5).to(tensor.dtype).reshape(tensor.shape)
    if upstream == "other order":
        dimensions = tuple(reversed(range(tensor.dim())))
        return weights.permute(dimensions).contiguous().permute(dimensions)
    return weights
