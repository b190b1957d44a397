"""Samples of PyTorch's operators and layers, from the databases of its own tests.

Runs in a control's process only: importing the database takes seconds, and brings numpy and pytest with it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import random
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.api import features
from conformance.compare.values import decode, encode
from conformance.operators import DTYPES
from conformance.operators.forms import IN_PLACE, forms_of
from conformance.operators.layers import layers
from conformance.operators.statistics import wider
from conformance.operators.themes import THEMES, theme_of
from conformance.operators.variations import needed_features, varied

_DATABASE = "torch.testing._internal.common_methods_invocations"
#: Of the samples that an OpInfo makes, so many are looked at; those that are tried are spread over them.
_LOOKED_AT = 48
#: Of the samples that are varied, so many are by a mode; of the others, so many by how the operator is written.
_OF_MODES = 0.45
_OF_FORMS = 0.3
#: Where one sample is asked for, so many are as PyTorch has them.
_AS_IT_IS = 0.3
#: Modes in which a sample is called, and what the axis "mode" calls them.
MODES = {"": "no_grad", "inference": "inference", "backward": "backward"}
#: How the reason begins where PyTorch does not take what was made of a sample.
INVALID = "not valid"
#: Operators whose values are whatever was in the memory.
_UNINITIALISED = ("empty", "new_empty")
#: Operators of which eager PyTorch's results have other sizes than its documentation says, where there are no elements:
#: reports/findings/eager_pixel_unshuffle_of_nothing.py.
_WRONG_OF_NOTHING = ("nn.functional.pixel_unshuffle",)


@dataclasses.dataclass(frozen=True)
class Sample:
    """One call of an operator, as a function of the tensors among its arguments; the others are bound.

    ``inputs`` and ``expected`` are encoded values: a tuple of tensors, and what eager PyTorch gives for it, a tensor or
    a tuple of tensors. ``settled`` is false where the values are others at each call: random, or uninitialised.
    """

    function: Callable[..., Any]
    inputs: bytes
    expected: bytes
    settled: bool
    #: As ``function``, but with the operator's result as it is.
    plain: Callable[..., Any]
    #: For a varied sample: where it lies on the axes, as ``axis=value``; how it is called, and in which mode; the
    #: features that it needs.
    values: tuple[str, ...] = ()
    call: str = ""
    mode: str = ""
    needs: tuple[str, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    def as_varied(self) -> dict[str, Any]:
        """What the verbs of a toolchain say of a varied sample beside its program."""
        return {
            "mode": self.mode,
            "values": list(self.values),
            "call": self.call,
            "needs": list(self.needs),
            "shapes": [list(each) for each in self.shapes],
        }


@functools.cache
def database() -> dict[str, Any]:
    """The OpInfo of each operator under its full name, with the variant: ``div.floor_rounding``; and each layer that is
    more than one operator, ``nn.GRU``.

    Raises ModuleNotFoundError where something is missing that PyTorch's own tests need.
    """
    entries = importlib.import_module(_DATABASE).op_db
    return {".".join(filter(None, (each.name, each.variant_test_name))): each for each in entries} | layers()


def dtypes_of(operator: str) -> list[str]:
    """Those of :data:`~conformance.operators.DTYPES` that PyTorch takes for the operator on a CPU."""
    supported = database()[operator].supported_dtypes("cpu")
    return [name for name in DTYPES if getattr(torch, name) in supported]


def themes() -> dict[str, dict[str, list[str]]]:
    """The operators of each theme, with the dtypes in which PyTorch takes them; none that takes no dtype of ours."""
    found: dict[str, dict[str, list[str]]] = {theme: {} for theme in THEMES}
    for name, entry in database().items():
        if dtypes := dtypes_of(name):
            found[theme_of(name, type(entry).__name__)][name] = dtypes
    return found


def samples_of(operator: str, dtype: str, seed: int, count: int) -> Iterator[Sample | str]:
    """At most ``count`` samples, the same ones for the same arguments; for one that PyTorch cannot make, the reason."""
    entry = database()[operator]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _made(entry, f"{seed} {operator} {dtype}", dtype)
        if isinstance(found, str):
            yield found
            return
        count = min(count, len(found))
        for index in range(count):
            yield _sample(entry, found[index * len(found) // count])


def varied_samples_of(
    operator: str, dtype: str, seed: int, count: int, modes: Sequence[str], *, layouts: bool = True
) -> Iterator[Sample | str]:
    """``count`` samples, the same ones for the same arguments: the first of several as PyTorch has it, the others each
    changed in one way, by :func:`~conformance.operators.variations.varied`, or by a mode; without ``layouts`` each lies
    in memory as PyTorch made it. For one that PyTorch cannot make or takes not, the reason."""
    entry = database()[operator]
    draw = random.Random(f"{seed} {operator} {dtype}")
    pointwise = theme_of(operator, type(entry).__name__) == "pointwise"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _made(entry, f"{seed} {operator} {dtype}", dtype)
        if isinstance(found, str):
            yield found
            return
        chosen = draw.sample(found, min(count, len(found)))
        as_it_is = count > 1 or draw.random() < _AS_IT_IS
        for index in range(count):
            raw = chosen[index % len(chosen)]
            changes = index > 0 or not as_it_is
            mode = draw.choice(modes) if modes and changes and draw.random() < _OF_MODES else ""
            vary = draw if changes and not mode else None
            yield _sample(entry, raw, vary=vary, mode=mode, pointwise=pointwise, layouts=layouts)


def _made(entry: Any, seed: str, dtype: str) -> list[Any] | str:
    """The first samples of an operator as PyTorch makes them; the reason where it makes none."""
    _seed(seed)
    try:
        # set_seed=False: else an OpInfo draws each sample from a seed of its own.
        made = entry.sample_inputs("cpu", getattr(torch, dtype), set_seed=False)
        found = list(itertools.islice(made, _LOOKED_AT))
    except Exception as error:
        return f"PyTorch cannot make samples: {in_a_line(error)}"
    return found or "PyTorch has no samples"


def in_a_line(error: Exception) -> str:
    """What an exception says, in one line."""
    text = " ".join(str(error).partition("\nException raised from ")[0].split())
    return f"{type(error).__name__}: {text[:300]}"


def exact_of(function: Callable[..., Any], inputs: tuple[Any, ...]) -> bytes | None:
    """What a function of tensors gives in 64 bits, encoded; None where nothing of it would have fewer, or where it
    says a dtype by itself."""
    wide = tuple(wider(each) for each in inputs)
    if all(one is other for one, other in zip(wide, inputs, strict=True)):
        return None
    try:
        results = function(*wide)
    except Exception:  # a function may hold on to a dtype
        return None
    tensors = (results,) if isinstance(results, torch.Tensor) else tuple(results)
    return encode(results) if all(wider(each) is each for each in tensors) else None


class NoTensor(Exception):
    """An operator's result has no tensor in it, so that no program can return it."""


def _sample(
    entry: Any,
    raw: Any,
    *,
    vary: random.Random | None = None,
    mode: str = "",
    pointwise: bool = False,
    layouts: bool = True,
) -> Sample | str:
    leaves, structure = pytree.tree_flatten((raw.input, raw.args, raw.kwargs))
    form, called = _form(entry, vary)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def plain(*tensors: torch.Tensor) -> Any:
        arguments = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            arguments[place] = tensor
        first, others, named = pytree.tree_unflatten(arguments, structure)
        return called(first, *others, **named)

    def function(*tensors: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return _tensors_of(plain(*tensors))

    tensors = [leaves[place] for place in places]
    change = f"form={form}" if form else ""
    if vary is not None and tensors and not form:
        try:
            tensors, change = varied(tensors, vary, pointwise=pointwise, layouts=layouts)
        except RuntimeError as error:
            return f"{INVALID}: the sample cannot be changed: {in_a_line(error)}"
    if entry.name in _WRONG_OF_NOTHING and not all(each.numel() for each in tensors):
        return "eager PyTorch gives other sizes of no elements than it documents"
    inputs = encode(tuple(tensors))
    random_operators = _RandomOperators()
    try:
        with random_operators:
            expected = function(*decode(inputs))
    except NoTensor as error:
        return str(error)
    except Exception as error:
        return f"{INVALID if change else 'eager PyTorch fails'}: {in_a_line(error)}"
    settled = not random_operators.seen and not entry.name.startswith(_UNINITIALISED)
    call = f"{'.'.join(filter(None, [entry.name, entry.variant_test_name]))}({_told(raw, tensors)})"
    values = _values(tensors, change, mode)
    shapes = tuple(tuple(each.shape) for each in tensors)
    needs = (*needed_features(tensors), *((features.in_place.name,) if form == IN_PLACE else ()))
    return Sample(function, inputs, encode(expected), settled, plain, values, call, mode, needs, shapes)


def _form(entry: Any, vary: random.Random | None) -> tuple[str, Callable[..., Any]]:
    """How an operator is written, and what to call for it: most often its function, which has no name."""
    forms = forms_of(entry) if vary is not None and vary.random() < _OF_FORMS else []
    return vary.choice(forms) if vary is not None and forms else ("", entry)


def _values(tensors: Sequence[torch.Tensor], change: str, mode: str) -> tuple[str, ...]:
    """Where a sample lies on the axes."""
    found = {change or "value=ordinary"}
    found.add(f"mode={MODES[mode]}")
    for each in tensors:
        found.add(f"dtype={str(each.dtype).removeprefix('torch.')}")
    if len({each.dtype for each in tensors}) > 1:
        found.add("dtype=mixed")
    if not any(each.startswith("layout=") for each in found):
        found.add("layout=contiguous")
    return tuple(sorted(found))


def _told(raw: Any, tensors: Sequence[torch.Tensor]) -> str:
    """The arguments of a sample as text, its tensors by dtype and shape."""
    remaining = iter(tensors)

    def told(value: Any) -> Any:
        return _Words(outline_of(next(remaining))) if isinstance(value, torch.Tensor) else value

    first, others, named = pytree.tree_map(told, (raw.input, raw.args, raw.kwargs))
    words = [_short(each) for each in (first, *others)] + [f"{key}={_short(value)}" for key, value in named.items()]
    return ", ".join(words)


def _short(value: Any) -> str:
    return " ".join(repr(value).split())[:60]


class _Words(str):
    """A text that is its own representation."""

    def __repr__(self) -> str:
        return str(self)


def outline_of(tensor: torch.Tensor) -> str:
    """A tensor as text: ``float32[2, 3]``."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _tensors_of(result: Any) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """A result without what is no tensor; containers of any kind become one tuple."""
    if isinstance(result, torch.Tensor):
        return result
    tensors = tuple(leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor))
    if not tensors:
        raise NoTensor(f"the result is no tensor but {result!r:.80}")
    return tensors


class _RandomOperators(TorchDispatchMode):
    """Notes whether an operator ran that draws random numbers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def _seed(text: str) -> None:
    """Seed everything that samples are drawn from; not from ``hash``, which differs between processes."""
    import numpy

    number = zlib.crc32(text.encode())
    random.seed(number)
    numpy.random.seed(number)
    torch.default_generator.manual_seed(number)  # torch.manual_seed spends milliseconds on devices that are not here
