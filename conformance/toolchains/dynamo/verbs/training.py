"""Verbs that go back through a model: gradients, steps of training, gradients of gradients."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from conformance.compare.values import decode, encode, tensors_in
from conformance.devices import Subject
from conformance.toolchains.dynamo.verbs.executed import executed
from conformance.toolchains.dynamo.verbs.session import Model, Session, verb


@verb
def differentiate(
    session: Session,
    model: int,
    inputs: bytes,
    wanted: Sequence[bool] | None,
    derived: bool = False,
    often: int = 1,
    written: bool = False,
) -> dict[str, Any]:
    """Call a model and go back from everything in its result that requires grad, ``often`` times.

    ``wanted`` says which arguments require grad; None: all. If ``derived`` the model gets results of a computation on
    them; if ``written`` what gradients go to has other values ahead of that, and parameters have their own afterwards.
    The gradients are those of the arguments that are wanted and, by name, of the parameters; None for what is unused.
    """
    held = session.get(model)
    with Subject():
        arguments = decode(inputs)
        leaves = requiring_grad(arguments, [True] * len(arguments) if wanted is None else wanted)
        results = tensors_in(held.function(*(leaf * 1 if derived and leaf.requires_grad else leaf for leaf in leaves)))
        sources = {f"argument {index}": leaf for index, leaf in enumerate(leaves) if leaf.requires_grad}
        sources |= {name: each for name, each in held.module.named_parameters() if each.requires_grad}
        rounds = []
        if sources and any(each.requires_grad for each in results):
            for _ in range(often):
                total = weighted(results)
                with written_to(sources.values()) if written else contextlib.nullcontext():
                    found = torch.autograd.grad(total, [*sources.values()], retain_graph=often > 1, allow_unused=True)
                rounds.append(dict(zip(sources, found, strict=True)))
        return {
            "requires_grad": [each.requires_grad for each in results],
            "results": encode([each.detach() for each in results]),
            "gradients": encode(rounds),
        }


@verb
def operators_run_in_training(
    session: Session, model: int, inputs: bytes, wanted: Sequence[bool]
) -> dict[str, list[str]]:
    """The operators that PyTorch itself executes where a model is called with arguments that require grad, and on the
    way back, when both were done before."""
    held = session.get(model)
    with Subject():
        _there_and_back(held, requiring_grad(decode(inputs), wanted), lambda call: call())
        leaves = requiring_grad(decode(inputs), wanted)
        there, back = _there_and_back(held, leaves, lambda call: executed(call, ()))
    return {"called with gradients": there, "gone back from": back}


def _there_and_back(held: Model, leaves: Sequence[Any], observed: Callable[[Callable[[], Any]], Any]) -> list[Any]:
    """What is observed of a call, and of going back from it. That begins with gradients that are there already:
    Autograd would have PyTorch make them."""
    results: list[torch.Tensor] = []
    there = observed(lambda: results.extend(tensors_in(held.function(*leaves))))
    roots = [each for each in results if each.requires_grad]
    seeds = [torch.ones_like(each) for each in roots]
    sources = [each for each in (*leaves, *held.module.parameters()) if each.requires_grad]
    back = observed(lambda: torch.autograd.grad(roots, sources, seeds, allow_unused=True)) if roots else []
    return [there, back]


def requiring_grad(arguments: Sequence[Any], wanted: Sequence[bool]) -> tuple[Any, ...]:
    """Fresh arguments, those that are wanted made to require grad."""
    return tuple(each.requires_grad_() if wants else each for each, wants in zip(arguments, wanted, strict=True))


@contextlib.contextmanager
def written_to(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """Other values in these, written in place, but for those that are expanded; their own in the end."""
    written = [each for each in tensors if 0 not in each.stride()]
    before = [each.detach().clone() for each in written]
    with torch.no_grad():
        for each in written:
            each.add_(1)
    try:
        yield
    finally:
        with torch.no_grad():
            for each, value in zip(written, before, strict=True):
                each.copy_(value)


def weighted(results: Sequence[torch.Tensor]) -> torch.Tensor:
    """One number in which each element of what requires grad has a weight of its own."""
    parts = []
    for each in results:
        if each.requires_grad:
            # Square roots have bits beyond any lower precision.
            weights = torch.linspace(2, 4, each.numel(), dtype=each.dtype).sqrt().reshape(each.shape)
            parts.append((each * weights).sum())
    return torch.stack(parts).sum()


@verb
def differentiate_twice(session: Session, model: int, inputs: bytes) -> bytes:
    """Gradients of a model's result and of the squares of its gradients: what the first backward pass does not carry on
    is missing from them. Encoded, one for each argument."""
    function = session.get(model).function
    with Subject():
        arguments = decode(inputs)
        leaves = requiring_grad(arguments, [True] * len(arguments))
        results = tensors_in(function(*leaves))
        first = torch.autograd.grad(weighted(results), leaves, create_graph=True)
        penalty = torch.stack([(each * each).sum() for each in first]).sum()
        return encode(torch.autograd.grad(weighted(results) + penalty, leaves))


@verb
def differentiate_together(session: Session, model: int, calls: Sequence[bytes]) -> bytes:
    """Gradients of the sum of what a model gives for each of these inputs, encoded: one for each argument of each call,
    and then for each parameter."""
    held = session.get(model)
    with Subject():
        given = [requiring_grad(arguments, [True] * len(arguments)) for arguments in map(decode, calls)]
        leaves = [*itertools.chain(*given), *held.module.parameters()]
        results = [each for arguments in given for each in tensors_in(held.function(*arguments))]
        return encode(torch.autograd.grad(weighted(results), leaves, allow_unused=True))


@verb
def train(session: Session, model: int, calls: Sequence[bytes], rate: float) -> tuple[bytes, bytes]:
    """A step of gradient descent on each of these inputs: the losses, and the parameters afterwards, encoded."""
    held = session.get(model)
    losses = []
    with Subject():
        for inputs in calls:
            loss = (held.function(*decode(inputs)) ** 2).mean()
            held.module.zero_grad()
            loss.backward()
            losses.append(loss.detach())
            with torch.no_grad():
                for each in held.module.parameters():
                    if each.grad is not None:
                        each.sub_(each.grad, alpha=rate)
        parameters = {name: each.detach() for name, each in held.module.named_parameters()}
        return encode(losses), encode(parameters)
