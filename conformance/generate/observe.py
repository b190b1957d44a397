"""Everything that can be seen of a call, and of the process in which it was made."""

from __future__ import annotations

import operator
import os
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from conformance.compare.values import expect_memory, place_of, tensors_in
from conformance.toolchains.shared_state import modes, shared_state


def observed(result: Any, arguments: Sequence[Any], module: torch.nn.Module) -> dict[str, Any]:
    """What a call gave: its result, of each tensor in it strides and flags, and whose memory is whose.

    ``result`` keeps its structure; of tensors there are copies, since what follows may change them.
    """
    tensors = tensors_in(result)
    return {
        "result": _copied(result),
        "strides": [strides_of(each) for each in tensors],
        "requires_grad": [each.requires_grad for each in tensors],
        "leaves": [each.requires_grad and each.is_leaf for each in tensors],
        "inference": [each.is_inference() for each in tensors],
        "aliases": aliases(tensors, arguments, module),
        "identities": [
            [place, other]
            for place, each in enumerate(tensors)
            for other, argument in enumerate(arguments)
            if each is argument
        ],
    }


def strides_of(tensor: torch.Tensor) -> list[int]:
    """The strides that matter: those of dimensions of one element, and of a tensor without any, say nothing."""
    if not tensor.numel() or tensor.layout != torch.strided:
        return []
    return [stride if size > 1 else 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]


def aliases(tensors: Sequence[torch.Tensor], arguments: Sequence[Any], module: torch.nn.Module) -> list[list[str]]:
    """Pairs that lie in one memory, by name: a part of the model and an argument, and a result and another result, an
    argument or a part of the model."""
    owners: dict[int, list[str]] = {}
    for index, each in enumerate(arguments):
        if isinstance(each, torch.Tensor) and each.numel():
            owners.setdefault(memory_of(each), []).append(f"argument {index}")
    found = []
    parts = [part for part in (*module.named_parameters(), *module.named_buffers()) if part[1].numel()]
    for name, each in parts:
        found += [[name, owner] for owner in owners.get(memory_of(each), ())]
    for name, each in parts:
        owners.setdefault(memory_of(each), []).append(name)
    for index, each in enumerate(tensors):
        if each.numel() and each.layout == torch.strided:
            place = memory_of(each)
            found += [[f"result {index}", owner] for owner in owners.get(place, ())]
            owners.setdefault(place, []).append(f"result {index}")
    return found


def memory_of(tensor: torch.Tensor) -> int:
    """The address of the memory that a tensor lies in, whole or in part."""
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else id(tensor)


def memories(tensors: Iterable[torch.Tensor]) -> list[StorageWeakRef]:
    """References to the memory of tensors, which do not keep it."""
    return [StorageWeakRef(each.untyped_storage()) for each in tensors if each.layout == torch.strided]


class Before:
    """The arguments, the model and the process as they were before a call."""

    def __init__(self, arguments: Sequence[Any], module: torch.nn.Module) -> None:
        self._arguments = [each.detach().clone() if isinstance(each, torch.Tensor) else each for each in arguments]
        self._state = {name: value.detach().clone() for name, value in module.state_dict().items()}
        self._places = _places(arguments, module)
        self._versions = _versions(arguments, module)
        self._random = torch.get_rng_state()
        self._modes = modes()

    def left(self, arguments: Sequence[Any], module: torch.nn.Module) -> dict[str, Any]:
        """What differs now: ``written`` arguments and parts of the model by what they have become; those that are
        ``otherwise`` than they were beside their values, as texts; ``marked`` are those that Autograd counts as written
        to; ``random`` and ``modes``."""
        row: dict[str, Any] = {}
        written = {
            f"argument {index}": now.detach().clone()
            for index, (was, now) in enumerate(zip(self._arguments, arguments, strict=True))
            if isinstance(now, torch.Tensor) and differs(was, now)
        }
        written |= {
            name: value.detach().clone()
            for name, value in module.state_dict().items()
            if name not in self._state or differs(self._state[name], value)
        }
        row["written"] = written
        places = _places(arguments, module)
        otherwise = {
            name: [was.form, now.form + " in other memory" * (was.memory != now.memory)]
            for name, was in self._places.items()
            for now in (places.get(name, _GONE),)
            if was != now
        }
        if otherwise:
            row["otherwise"] = otherwise
        counted = _versions(arguments, module)
        marked = [name for name, version in counted.items() if version != self._versions.get(name, version)]
        if marked:
            row["marked"] = marked
        if not torch.equal(self._random, torch.get_rng_state()):
            row["random"] = "changed"
        changed = modes_since(self._modes)
        if changed:
            row["modes"] = changed
        return row


def modes_since(before: Mapping[str, str]) -> dict[str, list[str]]:
    """The modes that are not as they were, with what each was and is."""
    after = modes()
    return {name: [before[name], after[name]] for name in after if after[name] != before[name]}


class _Place(NamedTuple):
    """What can be seen of an argument or of a part of a model beside its values, in words, and its memory."""

    form: str
    memory: int = 0


_GONE = _Place("gone")


def _named(arguments: Sequence[Any], module: torch.nn.Module) -> list[tuple[str, Any]]:
    named: list[tuple[str, Any]] = [(f"argument {index}", each) for index, each in enumerate(arguments)]
    return [*named, *module.named_parameters(), *module.named_buffers()]


def _versions(arguments: Sequence[Any], module: torch.nn.Module) -> dict[str, int]:
    """How often PyTorch counts each tensor as written to; inference tensors are not counted."""
    return {
        name: each._version
        for name, each in _named(arguments, module)
        if isinstance(each, torch.Tensor) and not each.is_inference()
    }


def _places(arguments: Sequence[Any], module: torch.nn.Module) -> dict[str, _Place]:
    """Of tensors how they lie, whether they require grad, and whether they have a gradient; of lists what they have."""
    named = _named(arguments, module)
    places = {name: _Place(str(each)) for name, each in named if isinstance(each, list)}
    for name, each in named:
        if isinstance(each, torch.Tensor):
            lies = place_of(each)
            form = "a tensor" if lies is None else f"of strides {lies[0]} from {lies[1]} on"
            form += ", requiring grad" * each.requires_grad
            form += ", with a gradient" * (each.is_leaf and each.grad is not None)
            places[name] = _Place(form, 0 if lies is None else lies[2])
    return places


def differs(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors differ in dtype, sizes or any element (NaN is NaN)."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return True
    if one.dtype is torch.complex32:  # which PyTorch makes, and does not compare
        one, other = one.to(torch.complex64), other.to(torch.complex64)
    if torch.equal(one, other):
        return False
    if not (one.is_floating_point() or one.is_complex()):
        return True
    return bool(((one != other) & ~(one.isnan() & other.isnan())).any())


def _copied(value: Any) -> Any:
    """A value with copies of its tensors that have the same strides, where these can be copied. Raises TypeError for
    tensors that are not in memory, such as fake ones."""
    if isinstance(value, torch.Tensor):
        expect_memory(value)
        plain = value.detach().resolve_conj().resolve_neg()
        return plain.clone() if plain.layout == torch.strided else plain.to_dense()
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    if isinstance(value, list):
        return list(map(_copied, value))
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return value


#: What stands for something of a process that is not there before a trial, or after it.
ABSENT = "not there"
#: What the names begin with of functions that everybody calls.
FUNCTIONS = "functions of "


def process_state() -> dict[str, str]:
    """The state that all code of a process shares, as texts by name."""
    return shared_state() | {f"{FUNCTIONS}{name}": _functions(name) for name in _OWNERS}


#: Where the files of PyTorch begin.
_PYTORCH = os.path.join(os.path.dirname(torch.__file__), "")
_OWNERS: dict[str, Any] = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.Tensor": torch.Tensor,
    "torch.nn.Module": torch.nn.Module,
    "torch.autograd": torch.autograd,
}


#: Their public functions; what PyTorch imports later, at a first use, is no change.
_NAMES = {
    name: [each for each, value in vars(owner).items() if not each.startswith("_") and callable(value)]
    for name, owner in _OWNERS.items()
}


#: What these names stood for when they were last looked at, and the number for it.
_last: dict[str, tuple[list[Any], str]] = {}


def _functions(name: str) -> str:
    """A number that changes when a public name of a module or class stands for another function."""
    found = list(map(vars(_OWNERS[name]).get, _NAMES[name]))
    was, number = _last.get(name, ([], ""))
    if len(was) != len(found) or not all(map(operator.is_, was, found)):
        number = str(hash(tuple(id(_unwrapped(each)) for each in found)))
        _last[name] = found, number
    return number


def _unwrapped(value: Any) -> Any:
    """A function, or what PyTorch itself has put a wrapper around, as Dynamo does with ``torch.manual_seed`` when it is
    imported, which may be at a first use."""
    while isinstance(value, types.FunctionType) and value.__code__.co_filename.startswith(_PYTORCH):
        inner = value.__dict__.get("__wrapped__")
        if inner is None:
            break
        value = inner
    return value
