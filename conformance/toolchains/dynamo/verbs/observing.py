"""One call of a model, and everything about it that its caller can observe."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo

from conformance.compare.values import decode, encode, place_of, tensors_in

#: Pairs (argument, dimension) that are marked dynamic.
Marked = Sequence[Sequence[int]]
Context = Callable[[], contextlib.AbstractContextManager[Any]]

#: Within what a model is called, by name.
CONTEXTS: dict[str, Context] = {
    "none": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast float16": lambda: torch.autocast("cpu", dtype=torch.float16),
}


def observe(
    function: Callable[..., Any],
    module: Any,
    inputs: bytes,
    arranged: str = "",
    marks: Marked = (),
    guard: str = "none",
    differentiable: bool = False,
) -> dict[str, Any]:
    """Call a function within a guard, with fresh copies of encoded ``inputs``, which require grad if
    ``differentiable`` and they can; ``module`` is the model that it computes.

    The row has ``result``: what it returned, what it left its arguments as, and the parameters and buffers of which it
    changed the values, encoded together so that shared memory shows; ``written``: which tensors among the arguments
    have another version; and ``traits`` of each tensor of arguments and result, and of each parameter and buffer that
    lies otherwise than before.
    """
    arguments = decode(inputs)
    if differentiable:
        arguments = requiring_grad_where_possible(arguments)
    arguments = arrange(arguments, arranged, marks)
    versions = [tensor._version for tensor in tensors_in(arguments)]
    before = {name: tensor.detach().clone() for name, tensor in _state_of(module).items()}
    places = {name: place_of(tensor) for name, tensor in _state_of(module).items()}
    with CONTEXTS[guard]():
        result = function(*arguments)
    written = [tensor._version != version for tensor, version in zip(tensors_in(arguments), versions, strict=True)]
    state = _state_of(module)
    changed = {name: tensor for name, tensor in state.items() if not _is_same(tensor, before.get(name))}
    traits = traits_of(_named(arguments, result), state)
    moved = [name for name, tensor in state.items() if places.get(name) != place_of(tensor)]
    traits |= {name: ["lies otherwise than before the call"] for name in moved}
    return {"result": encode((result, arguments, changed)), "written": written, "traits": traits}


def requiring_grad_where_possible(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments, each made to require grad that is a tensor of a dtype which can."""
    return tuple(
        each.requires_grad_()
        if isinstance(each, torch.Tensor) and (each.is_floating_point() or each.is_complex())
        else each
        for each in arguments
    )


def arrange(arguments: tuple[Any, ...], arranged: str, marks: Marked) -> tuple[Any, ...]:
    """Arguments as a caller may have them: "tied" (the second is the first), "overlapping" (both are parts of the
    first, one row apart), "derived" (results of a computation that wants gradients); with dimensions marked dynamic."""
    if arranged == "tied":
        arguments = (arguments[0], arguments[0], *arguments[2:])
    elif arranged == "overlapping":
        arguments = (arguments[0][:-1], arguments[0][1:], *arguments[2:])
    elif arranged == "derived":
        arguments = tuple(each.requires_grad_() * 1 for each in arguments)
    elif arranged:
        raise AssertionError(f"unknown arrangement {arranged!r}")
    for argument, dimension in marks:
        torch._dynamo.mark_dynamic(arguments[argument], dimension)
    return arguments


def traits_of(named: Mapping[str, torch.Tensor], state: Mapping[str, torch.Tensor]) -> dict[str, list[str]]:
    """What a user can tell of each tensor beside its values: whether it requires grad, was made in inference mode, is
    of another class, is the very object that one before it is, or lies in the memory of a parameter or buffer."""
    objects = {id(tensor): name for name, tensor in state.items()}
    memory = {tensor.untyped_storage().data_ptr(): name for name, tensor in state.items() if tensor.numel()}
    found = {}
    for name, tensor in named.items():
        lies_in = memory.get(tensor.untyped_storage().data_ptr()) if _has_memory(tensor) else None
        traits = {
            "requires grad": tensor.requires_grad,
            "inference tensor": tensor.is_inference(),
            type(tensor).__name__: type(tensor) is not torch.Tensor,
            f"is {objects.get(id(tensor))}": id(tensor) in objects,
            f"in the memory of {lies_in}": lies_in is not None,
        }
        found[name] = [trait for trait, holds in traits.items() if holds]
        objects.setdefault(id(tensor), name)
    return found


def _named(arguments: Any, result: Any) -> dict[str, torch.Tensor]:
    kinds = {"argument": tensors_in(arguments), "result": tensors_in(result)}
    return {f"{kind} {index}": tensor for kind, tensors in kinds.items() for index, tensor in enumerate(tensors)}


def _state_of(module: Any) -> dict[str, torch.Tensor]:
    if not isinstance(module, torch.nn.Module):
        return {}
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _is_same(tensor: torch.Tensor, before: torch.Tensor | None) -> bool:
    if before is None or tensor.shape != before.shape or tensor.dtype != before.dtype:
        return False
    return torch.equal(tensor, before)


def _has_memory(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.numel() > 0
