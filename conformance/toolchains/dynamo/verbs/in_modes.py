"""Calling a graph in a mode: as it is, under inference mode, or with gradients, of which the results are part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from conformance.compare.values import decode


def called(function: Callable[..., Any], inputs: bytes, mode: str) -> tuple[Any, ...]:
    """What a function of tensors gives for encoded ``inputs``, in a mode: "", "inference" or "backward".

    In "backward", also the gradients of a sum of what requires grad, by each input of at least one dimension that may,
    zeros where there is none. Raises RuntimeError where nothing requires grad.
    """
    with torch.inference_mode(mode == "inference"):
        tensors = decode(inputs)
        if mode != "backward":
            return tuple(function(*tensors))
    leaves = differentiable_of(tensors)
    for each in leaves:
        each.requires_grad_()
    results = tuple(function(*tensors))
    differentiable = [each for each in results if each.requires_grad]
    gradients = torch.autograd.grad(
        differentiable, leaves, [_weights(each) for each in differentiable], allow_unused=True, materialize_grads=True
    )
    return (*(each.detach() for each in results), *gradients)


def differentiable_of(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Those by which gradients are taken, in their order."""
    return [each for each in tensors if each.dim() and (each.is_floating_point() or each.is_complex())]


def _weights(result: torch.Tensor) -> torch.Tensor:
    """A gradient that is another one at each of some neighbouring places, and exact in every dtype."""
    return torch.arange(result.numel()).remainder(4).add(1).reshape(result.shape).to(result.dtype)
