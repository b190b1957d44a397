"""What a case is, and the table of them."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from conformance.api.features import Feature
from conformance.api.maker import Maker
from conformance.api.trained import as_trained

#: Method name → the argument tuples that it is called with.
Samples = dict[str, list[tuple[Any, ...]]]

ModelClass = TypeVar("ModelClass", bound=type)

#: Two samples or more for each method: a backend that memorises its first result is seen by the second.
_LEAST_SAMPLES = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One call of a method: its arguments, and what eager PyTorch returned for them.

    ``effects`` is what else the call did in eager PyTorch, for the toolchains that compare that.
    """

    method: str
    inputs: tuple[Any, ...]
    expected: Any
    effects: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A model of a toolchain, with its methods, sample inputs, and the features that it needs."""

    toolchain: str
    name: str
    features: frozenset[Feature]
    #: Called without arguments it returns the model: a module, or whatever else the toolchain accepts as one.
    module_class: type[Any]
    samples: Callable[[Maker], Samples]
    methods: tuple[str, ...]
    #: Whether clauses about every case try it; one that is large is tried only by the clauses that name it.
    everywhere: bool = True
    #: Those of the features without which a backend may still compute the model: one that lacks them may refuse the
    #: case, and need not.
    touches: frozenset[Feature] = frozenset()
    #: Whether the scripted module is frozen before it is lowered, so that its weights are constants of its graph. Of
    #: TorchScript alone.
    frozen: bool = False
    #: Whether it is a model of :mod:`conformance.models`.
    everyday: bool = False

    def own_seed(self, seed: int) -> int:
        """The seed of PyTorch's generator when the case is built in a run with ``seed``: each case has its own."""
        return (seed * 1_000_003 + zlib.crc32(self.name.encode())) % 2**31

    def build(self, seed: int) -> tuple[Any, Samples]:
        """A fresh model and its sample inputs, which depend on the seed alone. A module is in evaluation mode, and its
        new norms are as training leaves them.

        PyTorch's random state is afterwards what it was before.
        """
        own_seed = self.own_seed(seed)
        # Not fork_rng and manual_seed: they format a stack for each kind of device, 3 ms in all.
        state = torch.get_rng_state()
        try:
            torch.default_generator.manual_seed(own_seed)
            model = self.module_class()
            if isinstance(model, torch.nn.Module):
                as_trained(model).eval()
            samples = self.samples(Maker(own_seed))
        finally:
            torch.set_rng_state(state)
        missing = [method for method in self.methods if len(samples.get(method, ())) < _LEAST_SAMPLES]
        if missing:
            raise ValueError(f"case {self.name!r} has fewer than {_LEAST_SAMPLES} samples for {missing}")
        return model, samples


_CORPUS: dict[tuple[str, str], Case] = {}


def register_case(
    name: str,
    *features: Feature,
    toolchain: str,
    samples: Callable[[Maker], Samples],
    methods: tuple[str, ...] = ("forward",),
    everywhere: bool = True,
    touches: tuple[Feature, ...] = (),
    frozen: bool = False,
    everyday: bool = False,
) -> Callable[[ModelClass], ModelClass]:
    """Register the decorated module class as a toolchain's case ``name``. Raises ValueError when the name is taken.

    A backend that lacks one of the ``features`` must refuse the case; one that lacks a feature in ``touches`` may.
    ``everyday`` ones are tried only by clauses about every case that speak of what a model gives.
    """

    def register(module_class: ModelClass) -> ModelClass:
        taken = _CORPUS.get((toolchain, name))
        if taken is not None:
            raise ValueError(f"case {name!r} is registered twice: {taken.module_class} and {module_class}")
        touched = frozenset(touches)
        _CORPUS[toolchain, name] = Case(
            toolchain=toolchain,
            name=name,
            features=frozenset(features) | touched,
            module_class=module_class,
            samples=samples,
            methods=methods,
            everywhere=everywhere,
            touches=touched,
            frozen=frozen,
            everyday=everyday,
        )
        return module_class

    return register


def registered_cases() -> tuple[Case, ...]:
    """Every case of the modules that are imported here, in the order of registration."""
    return tuple(_CORPUS.values())


def case_named(name: str, toolchain: str) -> Case:
    """The case of that name; KeyError with the known names when there is none."""
    try:
        return _CORPUS[toolchain, name]
    except KeyError:
        known = ", ".join(case.name for case in _CORPUS.values() if case.toolchain == toolchain)
        raise KeyError(f"no case {name!r}; the corpus of {toolchain} has {known}") from None
