"""The everyday models: a case of each toolchain that registers them, since what a compiler takes for granted in one of
PyTorch's stacks is taken for granted in the others.

They are modules that can be scripted, traced by Dynamo and exported alike: ``forward`` takes tensors and gives tensors,
of the same shapes in each of its samples, and leaves its arguments and itself as they are.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from conformance.api.case import Samples, register_case
from conformance.api.features import Feature
from conformance.api.maker import Maker

ModelClass = TypeVar("ModelClass", bound=type)

#: The modules that hold the models.
MODULES = tuple(
    f"{__name__}.{name}" for name in ("formulas", "layers", "networks", "numbers", "options", "places", "tables")
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Model:
    name: str
    module_class: type[Any]
    inputs: Callable[[Maker], tuple[Any, ...]]
    features: tuple[Feature, ...]
    touches: tuple[Feature, ...]


_MODELS: dict[str, _Model] = {}


def everyday(
    name: str, *features: Feature, inputs: Callable[[Maker], tuple[Any, ...]], touches: tuple[Feature, ...] = ()
) -> Callable[[ModelClass], ModelClass]:
    """Make the decorated module class the everyday model ``name``; ``inputs`` makes the arguments of one call.

    ``features`` and ``touches`` are those of :func:`conformance.api.case.register_case`. Raises ValueError when the
    name is taken.
    """

    def add(module_class: ModelClass) -> ModelClass:
        if name in _MODELS:
            raise ValueError(
                f"the everyday model {name!r} is there twice: {_MODELS[name].module_class}, {module_class}"
            )
        _MODELS[name] = _Model(name, module_class, inputs, features, touches)
        return module_class

    return add


def register_models(toolchain: str, *, without: Collection[str] = (), unseen: Collection[Feature] = ()) -> None:
    """Register each everyday model, but those ``without`` which the toolchain does, as a case of two samples.

    ``unseen`` are features of models that no backend of the toolchain sees. Raises ValueError for a name in ``without``
    that no model has.
    """
    for module in MODULES:
        importlib.import_module(module)
    unknown = sorted(set(without) - set(_MODELS))
    if unknown:
        raise ValueError(f"there are no everyday models {unknown}; there are {sorted(_MODELS)}")
    for model in _MODELS.values():
        if model.name not in without:
            register_case(
                model.name,
                *(each for each in model.features if each not in unseen),
                toolchain=toolchain,
                samples=_samples_of(model),
                touches=tuple(each for each in model.touches if each not in unseen),
                everyday=True,
            )(model.module_class)


def _samples_of(model: _Model) -> Callable[[Maker], Samples]:
    return lambda make: {"forward": [model.inputs(make) for _ in range(2)]}
