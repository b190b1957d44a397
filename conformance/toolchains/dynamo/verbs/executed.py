"""Which operators PyTorch itself executes in a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

#: Operators that make room for a result, or ask what it is; like views, none computes anything. The last two are views
#: of which the dispatcher does not know. Dynamo's own guards ask a tensor without dimensions for its item.
_NO_WORK = {
    "aten::item",
    "aten::_local_scalar_dense",
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::_unsafe_view",
    "aten::broadcast_tensors",
}
#: Operators that fill memory, or move what is in it: so a backend takes its inputs to where its own code computes, and
#: results from there. Each of those that move does it by :data:`_COPY`, which alone knows whether it converts.
_MOVES = {
    "aten::copy_",
    "aten::_to_copy",
    "aten::clone",
    "aten::contiguous",
    "aten::fill_",
    "aten::zero_",
    "aten::zeros",
    "aten::zeros_like",
    "aten::new_zeros",
    "aten::ones",
    "aten::ones_like",
    "aten::new_ones",
    "aten::full",
    "aten::full_like",
    "aten::new_full",
    "aten::scalar_tensor",
}
_COPY = "aten::copy_"
#: What Autograd's engine does by itself, between the functions that it calls: it adds up the gradients of what was used
#: more than once. What a function does has the function between.
_ENGINE = "autograd::engine::evaluate_function: "


def executed(function: Callable[..., Any], arguments: Sequence[Any]) -> list[str]:
    """The operators that PyTorch itself executes in one call, in whatever thread, one entry for each; those that do no
    work left out."""
    return computing(profiled(function, arguments))


def profiled(function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """The events of one call, as PyTorch's profiler knows them."""
    everywhere = _ExperimentalConfig(profile_all_threads=True, capture_overload_names=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, experimental_config=everywhere) as profiler:
        function(*arguments)
    return list(profiler.events())


def computing(events: Iterable[Any]) -> list[str]:
    """The names of the operators among events that compute something, those left out by which they are computed.

    Of an operator that AOT Autograd takes apart before any backend sees it, the parts count in its place. So a model
    has as many wherever PyTorch computes it: eager, ``x @ y`` is aten::matmul and within it aten::mm, and behind AOT
    Autograd it is aten::mm alone.
    """
    return [name for event in events if event.cpu_parent is None for name in _computing(event)]


def named(events: Iterable[Any]) -> set[str]:
    """The names by which somebody may know what is executed: those of parts and wholes, and of copies; of views only
    where the model makes them, and not an operator on its way."""
    return {
        event.name
        for event in events
        if _is_operator(event)
        and event.name not in _NO_WORK
        and (event.cpu_parent is None or not _is_view(event.name, event.overload_name))
    }


def _computing(event: Any) -> list[str]:
    within = [name for inner in event.cpu_children for name in _computing(inner)]
    if not _computes(event) or (within and _is_taken_apart(event.name, event.overload_name)):
        return within
    return [event.name]


def _computes(event: Any) -> bool:
    if event.name == _COPY:
        return _converts(event)
    if not _is_operator(event) or event.name in _NO_WORK | _MOVES or _is_view(event.name, event.overload_name):
        return False
    return event.cpu_parent is None or not event.cpu_parent.name.startswith(_ENGINE)


def _converts(copy: Any) -> bool:
    """Whether a copy is of another dtype than what it is made of. A conversion is an operator of models,
    ``x.to(dtype)``, and computes each element anew: who leaves it to PyTorch does not compute it. What merely goes to
    other memory, or to another device, has the same bits there."""
    return len(set(copy.input_dtypes[:2])) > 1


def _is_operator(event: Any) -> bool:
    return bool(event.name.startswith("aten::"))


@functools.cache
def _is_view(name: str, overload: str) -> bool:
    """Whether an operator gives, or makes of its input, another look at the same memory."""
    operator = _operator(name, overload)
    return operator is not None and (operator.is_view or torch.Tag.inplace_view in operator.tags)


@functools.cache
def _is_taken_apart(name: str, overload: str) -> bool:
    """Whether AOT Autograd replaces an operator by those that it is made of."""
    operator = _operator(name, overload)
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return operator is not None and operator.has_kernel_for_dispatch_key(key)


def _operator(name: str, overload: str) -> Any:
    """An operator by the names that the profiler has for it; None where Python does not know it."""
    packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
    return getattr(packet, overload or "default", None)
