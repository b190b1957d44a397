"""The calls of one program: the first, and how later ones differ from it."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence

from conformance.generate.drawing import INTEGERS, Draw
from conformance.generate.program import FORWARD, OPTIONAL, Absent, Argument, Listed, Program, Scalar, TensorSpec
from conformance.generate.programs import NUMBERS, Scope, dtype_for, layout_for, values_for
from conformance.generate.steps import UPSTREAM, Call

#: A cast to whole numbers.
_CAST = re.compile(r"\.to\(torch\.u?int|\.type_as\(|\.(int|long)\(\)")
_WHOLE = (*INTEGERS, "bool")


class Calls:
    """The calls of one program."""

    def __init__(self, draw: Draw, scope: Scope, program: Program, arguments: Sequence[Argument]) -> None:
        self._draw = draw
        self._scope = scope
        self._methods = [each.name for each in program.all_methods]
        self._arguments = tuple(arguments)
        #: The places of arguments that may be None.
        self._optional = [place for place, (_, kind) in enumerate(program.arguments) if kind == OPTIONAL]
        #: Whether an argument is written to: autograd refuses that where it is a leaf, and else changes its gradient.
        self._writes = "writes" in program.marks
        #: What is random is so in training, whatever else the mode is.
        self._is_random = "random" in program.marks
        #: Whether something is cast to whole numbers: what floats beyond their range become, PyTorch leaves open.
        self._casts = any(_CAST.search(line.text) for method in program.all_methods for line in method.lines)

    def first(self) -> Call:
        """The call that a model is lowered for."""
        return self._under(Call(self._arguments))

    def revalued(self, first: Call) -> Call:
        """The first call with other values, for which nothing need be compiled again unless Python numbers are others.

        A number that was a constant for the first call is another one here.
        """
        draw, scope = self._draw, self._scope
        arguments = tuple(
            dataclasses.replace(each, values=values_for(draw, scope)) if isinstance(each, TensorSpec) else each
            for each in map(self._reseeded, first.arguments)
        )
        return dataclasses.replace(first, arguments=arguments, method=self._method())

    def _method(self) -> str:
        return self._draw.choice(self._methods) if len(self._methods) > 1 else FORWARD

    def varied(self, first: Call) -> Call:
        """A later call: other values, and now and then other layouts, sizes, dtypes or modes."""
        call = self.revalued(first)
        arguments = call.arguments
        for _ in range(self._draw.of(1, 2, 0, 3)):
            arguments = self._changed(arguments)
        call = dataclasses.replace(call, arguments=arguments, tied=None)
        return self._under(call) if self._draw.chance(2) else call

    def sizes(self, first: Call) -> list[Call]:
        """Calls like the first in which one of its sizes is replaced, wherever it stands, by one size after another; or
        changes places with another."""
        known = sorted({size for spec in first.tensors for size in spec.shape})
        if not known or "broadcasting" in self._scope.missing:
            return []
        if len(known) > 1 and self._draw.chance(3):  # as many elements as before, in another shape
            one = self._draw.choice(known)
            other = self._draw.choice([size for size in known if size != one])
            exchanged = _resized(_resized(_resized(first.arguments, one, -1), other, one), -1, other)
            return [dataclasses.replace(first, arguments=each, tied=None) for each in (exchanged, first.arguments)]
        old = self._draw.choice(known)
        sizes = [self._draw.size() for _ in range(3)]
        if old > 1 and self._draw.chance(2):  # what is compiled for any size has yet to see each
            sizes = [old + 1, 2 * old + 1, *sizes[:1]]
        return [
            dataclasses.replace(first, arguments=_resized(first.arguments, old, size), tied=None)
            for size in sizes
            if size or "empty" not in self._scope.missing
        ]

    def _under(self, call: Call) -> Call:
        draw, traits = self._draw, self._scope.traits
        modes = ["grad", "no_grad", "inference", *["grad"] * (2 * self._scope.training)]
        if draw.chance(4):
            modes = ["deterministic", "default float64"]
            modes.append(draw.of("autocast", "autocast float16") if traits.keeps_gradients else "deterministic")
        mode = draw.choice(modes)
        backward = self._scope.training and traits.keeps_gradients and mode not in ("no_grad", "inference")
        tied = None
        # who writes to memory that two arguments share changes both
        if not backward and draw.chance(2 if self._writes else 3):
            pairs = [pair for pair in itertools.combinations(range(len(call.arguments)), 2) if _alike(call, *pair)]
            if pairs:
                tied = (*draw.choice(pairs), draw.of("same", "overlap"))
        again = backward and draw.chance(5)
        between = backward and not self._writes and draw.chance(4)
        return dataclasses.replace(
            call,
            mode=mode,
            backward=backward,
            train=traits.trains and draw.chance(2 if backward else 4) != self._is_random,
            thread=draw.chance(6),
            non_leaf=backward and not self._writes and draw.chance(4),
            between=between,
            fewer=between and "broadcasting" not in self._scope.missing and draw.chance(2),
            upstream=draw.choice(UPSTREAM) if backward and draw.chance(3) else "",
            begin=draw.of("first", "last") if backward and draw.chance(4) else "",
            again=again,
            second=backward and not again and not self._writes and draw.chance(8),
            differentiable=mode == "grad" and not backward and not self._writes and draw.chance(5),
            tied=tied,
            method=self._method(),
        )

    def _reseeded(self, argument: Argument) -> Argument:
        if isinstance(argument, Scalar | Listed):
            stays = self._scope.traits.is_costly or self._draw.chance(2)
            return argument if stays else self._with_other_numbers(argument)
        if isinstance(argument, Absent):
            return Absent(dataclasses.replace(argument.spec, seed=argument.spec.seed + 1))
        return dataclasses.replace(argument, seed=argument.seed + 1)

    def _with_other_numbers(self, argument: Scalar | Listed) -> Scalar | Listed:
        if isinstance(argument, Listed):
            return Listed(tuple(map(self._other_number, argument.numbers)))
        return self._other_number(argument)

    def _other_number(self, number: Scalar) -> Scalar:
        return Scalar(number.kind, self._draw.choice(NUMBERS[number.kind][1:]))

    def _changed(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        draw, scope = self._draw, self._scope
        what = draw.of("layout", "sizes", "dtype", "scalar", *["none"] * (2 * len(self._optional)))
        tensors = [place for place, each in enumerate(arguments) if isinstance(each, TensorSpec)]
        changed = list(arguments)
        if what == "sizes":
            if "broadcasting" in scope.missing:
                return arguments
            shapes = [each.shape for each in arguments if isinstance(each, TensorSpec)]
            known = sorted({size for shape in shapes for size in shape})
            if not known:
                return arguments
            old, new = draw.choice(known), draw.size()
            if new == 0 and "empty" in scope.missing:
                return arguments
            return _resized(arguments, old, new)
        if what == "scalar":
            for place, each in enumerate(arguments):
                if isinstance(each, Scalar | Listed):
                    changed[place] = self._with_other_numbers(each)
            return tuple(changed)
        if what == "none":
            chosen = self._optional if draw.chance(2) else [draw.choice(self._optional)]
            for place in chosen:
                changed[place] = _turned(changed[place])
            return tuple(changed)
        place = draw.choice(tensors)
        spec = arguments[place]
        assert isinstance(spec, TensorSpec)
        match what:
            case "layout":
                changed[place] = dataclasses.replace(spec, layout=layout_for(draw, scope, spec.shape))
            case "dtype" if not scope.training:
                dtype = dtype_for(draw, scope)
                if not self._casts or dtype in _WHOLE or spec.dtype not in _WHOLE:
                    changed[place] = dataclasses.replace(spec, dtype=dtype)
        return tuple(changed)


def _turned(argument: Argument) -> Argument:
    """None in place of a tensor, and the other way round."""
    if isinstance(argument, Absent):
        return argument.spec
    return Absent(argument) if isinstance(argument, TensorSpec) else argument


def _resized(arguments: Sequence[Argument], old: int, new: int) -> tuple[Argument, ...]:
    """Arguments in which every dimension of size ``old`` has size ``new``."""

    def resized(spec: TensorSpec) -> TensorSpec:
        return dataclasses.replace(spec, shape=tuple(new if size == old else size for size in spec.shape))

    return tuple(
        resized(each)
        if isinstance(each, TensorSpec)
        else Absent(resized(each.spec))
        if isinstance(each, Absent)
        else each
        for each in arguments
    )


def _alike(call: Call, first: int, second: int) -> bool:
    """Whether two arguments of a call are tensors that could be one."""
    one, other = call.arguments[first], call.arguments[second]
    return (
        isinstance(one, TensorSpec)
        and isinstance(other, TensorSpec)
        and (one.shape, one.dtype) == (other.shape, other.dtype)
    )
