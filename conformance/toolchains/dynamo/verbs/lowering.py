"""Verbs that make models and call them: build, compile, lower, run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch._dynamo
from torch.utils import _pytree as pytree

from conformance.api.case import case_named
from conformance.compare.values import decode, encode, refilled
from conformance.devices import Subject
from conformance.toolchains.dynamo.verbs.observing import Marked, arrange, observe
from conformance.toolchains.dynamo.verbs.session import Model, Session, verb


@verb
def samples(session: Session, case: str, seed: int) -> list[dict[str, Any]]:
    """What eager PyTorch gives and does for each sample of a case, called in order on one module."""
    chosen = case_named(case, "dynamo")
    module, by_method = chosen.build(seed)
    calls = []
    with Subject():
        for method in chosen.methods:
            for inputs in by_method[method]:
                encoded = encode(inputs)
                seen = observe(getattr(module, method), module, encoded)
                calls.append({"method": method, "inputs": encoded, **seen})
    return calls


@verb
def build(session: Session, case: str, seed: int) -> int:
    """A case's model as it is, not compiled."""
    module, _ = case_named(case, "dynamo").build(seed)
    return session.keep(Model(module, module))


@verb
def compile(session: Session, model: int, by_name: bool = False, dynamic: bool | None = None) -> int:
    """``torch.compile`` a model: nothing is lowered before it is called.

    ``by_name`` gives the backend as users do, with nothing between it and Dynamo.
    """
    module = session.get(model).module
    with Subject():
        if by_name:
            return session.keep(Model(module, torch.compile(module, **session.settings, dynamic=dynamic)))
        watch = session.watch()
        return session.keep(Model(module, torch.compile(module, backend=watch, dynamic=dynamic), watch))


@verb
def lower(session: Session, model: int, inputs: bytes, arranged: str = "", marks: Marked = ()) -> None:
    """Call a compiled model up to where its first compiled code would run, and no further."""
    compiled = session.get(model)
    arguments = arrange(decode(inputs), arranged, marks)
    with Subject(), compiled.watch.only_lowering():
        compiled.function(*arguments)


@verb
def run(
    session: Session,
    model: int,
    inputs: bytes,
    repeat: int = 1,
    stance: str = "default",
    arranged: str = "",
    marks: Marked = (),
    guard: str = "none",
    differentiable: bool = False,
) -> list[dict[str, Any]]:
    """Call a model, compiled or not, and observe it, ``repeat`` times."""
    held = session.get(model)
    how = (arranged, marks, guard, differentiable)
    with Subject(), torch.compiler.set_stance(stance):
        return [observe(held.function, held.module, inputs, *how) for _ in range(repeat)]


@verb
def gradients(session: Session, model: int, inputs: bytes, marks: Marked = ()) -> bytes:
    """Call a model with inputs that require grad, and go back from its result: ``(result, gradients)``, encoded."""
    function = session.get(model).function
    with Subject():
        leaves = tuple(each.requires_grad_() for each in decode(inputs))
        result = function(*arrange(leaves, "", marks))
        weights = torch.arange(1.0, result.numel() + 1).reshape(result.shape)
        return encode((result.detach(), torch.autograd.grad((result * weights).sum(), leaves)))


@verb
def run_at_sizes(session: Session, model: int, sizes: list[int]) -> list[bytes]:
    """What a model of two matrices, compiled or not, gives for so many rows each, encoded."""
    function = session.get(model).function
    make = torch.Generator().manual_seed(0)
    with Subject():
        return [encode(function(*(torch.randn(size, 4, generator=make) for _ in range(2)))) for size in sizes]


@verb
def configure(session: Session, **settings: Any) -> None:
    """Change settings of ``torch._dynamo.config``, as a user would, for the rest of the process."""
    for name, value in settings.items():
        setattr(torch._dynamo.config, name, value)


@verb
def counts(session: Session, model: int) -> dict[str, Any]:
    """How often the backend was asked to lower and its code was called, and what it did that it must not."""
    watch = session.get(model).watch
    return {
        "lowerings": watch.lowerings,
        "runs": watch.runs,
        "malformed": watch.malformed,
        "disturbed": watch.disturbed,
        "declined": [type(each).__name__ for each in watch.declined],
    }


@verb
def forget(session: Session, model: int) -> None:
    """Destroy one model."""
    with Subject():
        session.discard(model)


@verb
def reset(session: Session) -> None:
    """Forget everything that Dynamo has compiled."""
    with Subject():
        torch._dynamo.reset()


@verb
def disturb(session: Session, model: int, how: str) -> None:
    """Change the parameters and buffers of a model: in place, also through ``.data`` and so behind the back of their
    versions, by other tensors, or by loading a state."""
    module = session.get(model).module
    with torch.no_grad(), Subject():
        if how in ("in place", "through data"):
            for tensor in (*module.parameters(), *module.buffers()):
                # A variance stays positive: NaN would be equal to NaN, whatever was seen.
                (tensor.data if how == "through data" else tensor).mul_(3).add_(1)
        elif how == "replaced":
            for owner in module.modules():
                for name, parameter in list(owner.named_parameters(recurse=False)):
                    setattr(owner, name, torch.nn.Parameter(parameter * 2 - 1, parameter.requires_grad))
                for name, buffer in list(owner.named_buffers(recurse=False)):
                    setattr(owner, name, buffer * 2 - 1)
        elif how == "loaded":
            module.load_state_dict({name: value * 5 + 2 for name, value in module.state_dict().items()})
        else:
            raise AssertionError(f"unknown way {how!r} to change a model")


@verb
def state_of(session: Session, model: int) -> bytes:
    """The parameters and buffers of a model, by name, encoded."""
    with Subject():
        state = session.get(model).module.state_dict()
        return encode({name: value.clone() for name, value in state.items()})


@verb
def run_keeping(session: Session, model: int, calls: Sequence[bytes]) -> list[bytes]:
    """Call a model with each of these inputs; each result, encoded after the last call was made. The same tensors are
    given each time, with other values, wherever they are as large; and of every other result only what is detached from
    it is held."""
    called, given, results = session.get(model), decode(calls[0]), []
    with Subject():
        for number, values in enumerate(map(decode, calls)):
            given = refilled(given, values)
            held = torch.Tensor.detach if number % 2 else lambda tensor: tensor
            # No name is given to what is called for: a tensor that is named is not gone when the next call is made.
            results.append(pytree.tree_map_only(torch.Tensor, held, called.function(*given)))
        return [encode(result) for result in results]


@verb
def run_in_turns(session: Session, models: Sequence[int], calls: Sequence[bytes]) -> list[bytes]:
    """Call the models, each with the inputs at its place; each result, encoded after the last call was made."""
    functions = [session.get(model).function for model in models]
    with Subject():
        results = [function(*decode(each)) for function, each in zip(functions, calls, strict=True)]
        return [encode(result) for result in results]
