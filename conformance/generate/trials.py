"""Trials of one model as hypothesis draws them: a program with its calls."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from conformance.generate import THEMES_OF_PROGRAMS
from conformance.generate.drawing import FLOATS, HUGE_SIZE, INTEGERS, LARGE_SIZES, Draw
from conformance.generate.grammar import RULES, Abandoned, Builder, Rule
from conformance.generate.program import Argument, Call, Program, Scalar, Step, TensorSpec, Trial
from conformance.toolchains import ProgramTraits

_VALUES = (
    "ordinary", "small", "halves", "positive", "negative", "zeros", "ones", "minus_zero", "repeated", "sorted", "large",
    "tiny", "inf", "minus_inf", "nan", "all_nan", "extremes",
)  # fmt: skip
#: A program has so many statements now and then.
_MANY_STATEMENTS = 30
_NOT_FINITE = ("inf", "minus_inf", "nan", "all_nan", "extremes", "minus_zero", "tiny")
_LAYOUTS = ("contiguous", "transposed", "stepped", "offset", "expanded", "channels_last")
#: The feature that a dtype of an argument needs.
_DTYPE_FEATURES = {
    "float64": "float64", "float16": "half_precision", "bfloat16": "half_precision", "bool": "booleans",
    "complex64": "complex_numbers", **dict.fromkeys(INTEGERS, "integers"),
}  # fmt: skip
#: Which families a theme draws from, beside all others.
FAMILIES = {
    **{theme: (theme,) for theme in THEMES_OF_PROGRAMS},
    "training": ("elementwise", "matrices", "reductions", "networks", "views"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """What trials are drawn for: a theme, what models of a toolchain can do, and the features that are missing."""

    theme: str
    traits: ProgramTraits
    missing: frozenset[str] = frozenset()
    #: Whether arguments require grad, and calls are gone back from.
    training: bool = False


def program_trials(scope: Scope) -> st.SearchStrategy[Trial]:
    """Trials of one model, called a few times."""
    return _program_trial(scope)


@st.composite
def _program_trial(draw: Any, scope: Scope) -> Trial:
    drawing = Draw(draw)
    program, arguments = draw_program(drawing, scope)
    calls = Calls(drawing, scope, program, arguments)
    first = calls.first()
    dynamic = "dynamic" if scope.traits.keeps_gradients and drawing.chance(10) else ""
    steps = [Step("model"), Step("lower", 0, dynamic), Step("call", 0, call=first)]
    if drawing.chance(6):
        steps += [Step("call", 0, call=each) for each in calls.sizes(first)]
    if scope.traits.saves and drawing.chance(3):
        steps.append(Step(drawing.of("save_load", "copy"), 0))
        steps.append(Step("call", 1, call=calls.varied(first)))
    lowered = sum(step.action in ("lower", "save_load", "copy") for step in steps)
    # where a call of another kind makes no compiler start again, calls cost next to nothing
    for _ in range(drawing.choice((2, 1, 0, 3) if scope.traits.trains else (3, 1, 5, 8))):
        number = drawing.upto(lowered - 1)
        action = drawing.of("call", "call", "refill")
        steps.append(Step(action, number, call=calls.varied(first) if action == "call" else calls.again(first)))
    if "random" in program.marks:
        steps.append(Step("call", 0, call=first))
    if (program.parameters or program.buffers) and drawing.chance(4):
        steps.append(Step("weights", 0, drawing.choice(weight_changes(scope))))
        steps.append(Step("call", 0, call=first))
    return Trial((program,), tuple(steps))


def weight_changes(scope: Scope) -> tuple[str, ...]:
    """How the weights of a model may change after it was lowered."""
    return ("in place", "loaded") if scope.traits.copies_weights else ("in place", "replaced", "loaded")


@functools.lru_cache(maxsize=256)
def _rules(families: tuple[str, ...], traits: ProgramTraits, missing: frozenset[str]) -> tuple[Rule, ...]:
    """Rules as often as they weigh; all families where none is given."""
    return tuple(
        each
        for each in RULES
        if (not families or each.family in families)
        and all(getattr(traits, trait) for trait in each.traits)
        and not missing.intersection(each.needs)
        for _ in range(each.weight)
    )


def draw_program(draw: Draw, scope: Scope, most: int = 7) -> tuple[Program, list[Argument]]:
    """A program, and the arguments that it is drawn for."""
    builder = Builder(draw, scope.traits, scope.missing)
    arguments = _arguments(draw, scope, builder)
    focus = _rules(FAMILIES.get(scope.theme, ()), scope.traits, scope.missing)
    everything = _rules((), scope.traits, scope.missing)
    wanted = 1 + min(draw.upto(most - 1), draw.upto(most - 1)) if not draw.chance(40) else _MANY_STATEMENTS
    for _ in range(wanted * 3):
        if builder.length >= wanted:
            break
        rules = focus if focus and not draw.chance(3) else everything
        try:
            draw.choice(rules).function(builder)
        except Abandoned:
            continue
    result = _result(draw, scope, builder)
    return builder.program(result), arguments


def _arguments(draw: Draw, scope: Scope, builder: Builder) -> list[Argument]:
    same = "broadcasting" in scope.missing
    sizes = [draw.size() for _ in range(3)]
    if "large" not in scope.missing and draw.chance(12):
        sizes[0] = draw.choice(LARGE_SIZES)
        sizes[1:] = [2, 3]
    if "empty" in scope.missing:
        sizes = [size or 2 for size in sizes]
    dtype = _dtype(draw, scope, first=True)
    shape = _shape(draw, scope, sizes)
    if "large" not in scope.missing and draw.chance(25):
        shape = (HUGE_SIZE,)
    arguments: list[Argument] = []
    for index in range(draw.of(2, 1, 3) if not draw.chance(40) else 9):
        if index and not same:
            dtype = _dtype(draw, scope) if draw.chance(4) else dtype
            if shape != (HUGE_SIZE,) and not draw.chance(3):
                shape = _shape(draw, scope, sizes)
        grad = scope.training and dtype in FLOATS and not draw.chance(5)
        spec = TensorSpec(dtype, shape, _layout(draw, scope, shape), _values(draw, scope), draw.seed(), grad)
        arguments.append(spec)
        builder.argument(spec)
    if "scalars" not in scope.missing and draw.chance(6):
        kind = draw.of("int", "float")
        builder.scalar(kind)
        arguments.append(Scalar(kind, draw.of(2, 1, 3, 0) if kind == "int" else draw.of(1.5, 0.0, -2.0)))
    return arguments


def _dtype(draw: Draw, scope: Scope, *, first: bool = False) -> str:
    wide = scope.theme == "dtypes" or not first
    if not draw.chance(2 if wide else 4):
        return "float32"
    names = ("float64", "int64", "bool", "float16", "bfloat16", "int32", "complex64", "uint8", "int8", "int16")
    known = [name for name in names if _DTYPE_FEATURES[name] not in scope.missing]
    if "mixed_dtypes" in scope.missing and not first:
        return "float32"
    return draw.choice(known) if known else "float32"


def _shape(draw: Draw, scope: Scope, sizes: Sequence[int]) -> tuple[int, ...]:
    one, two, three = sizes
    if "broadcasting" in scope.missing and "zero_dim" in scope.missing:
        return (one, two)
    match scope.theme:
        case "matrices":
            shapes: tuple[tuple[int, ...], ...] = ((one, two), (two, three), (2, one, two), (one,), (two, one), ())
        case "networks":
            shapes = ((1, 2, 5, 5), (2, 3, 4, 5), (one, two, 4, 4), (one, two), (2, one, 7), (one, 4, 3, 3))
        case _:
            shapes = (
                (one,), (one, two), (two, three), (), (two,), (one, two, three), (1, two), (one, 1), (two, one),
                (1, 2, three, one), (1,), (2, 1, 2, 1, three),
            )  # fmt: skip
    shape = draw.choice(shapes)
    if not shape and "zero_dim" in scope.missing:
        return (one,)
    return shape if len(shape) < 4 or scope.theme == "networks" else tuple(min(size, 9) for size in shape)


def _layout(draw: Draw, scope: Scope, shape: Sequence[int]) -> str:
    if "non_contiguous" in scope.missing or not draw.chance(3):
        return "contiguous"
    return draw.choice(_LAYOUTS)


def _values(draw: Draw, scope: Scope) -> str:
    return _value(draw, scope) if draw.chance(2) else "ordinary"


def _value(draw: Draw, scope: Scope) -> str:
    kinds = [each for each in _VALUES if "non_finite" not in scope.missing or each not in _NOT_FINITE]
    return draw.choice(kinds)


def _result(draw: Draw, scope: Scope, builder: Builder) -> str:
    names = [str(value) for value in builder.values if value.origin == "made"]
    last = names[-1] if names else "x0 + x0"
    several = "several_outputs" not in scope.missing and len(names) > 1 and not draw.chance(2)
    if not several and not draw.chance(8):
        return last
    if "several_outputs" in scope.missing:
        return last
    chosen = [last, *(name for name in names[:-1] if draw.chance(2))][:4]
    if draw.chance(8):
        chosen.append(draw.choice([last, "x0"]) if scope.traits.keeps_aliases else last)
    if len(chosen) == 1:
        return last if "single_tuple" in scope.missing or not draw.chance(4) else f"({last},)"
    listed = ", ".join(chosen)
    if scope.traits.keeps_aliases and draw.chance(6):
        return draw.of(f"[{listed}]", "{" + ", ".join(f'"{i}": {name}' for i, name in enumerate(chosen)) + "}")
    return f"({listed})"


class Calls:
    """The calls of one program."""

    def __init__(self, draw: Draw, scope: Scope, program: Program, arguments: Sequence[Argument]) -> None:
        self._draw = draw
        self._scope = scope
        self._program = program
        self._arguments = tuple(arguments)

    def first(self) -> Call:
        """The call that a model is lowered for."""
        return self._under(Call(self._arguments))

    def again(self, first: Call) -> Call:
        """The same with other numbers."""
        return dataclasses.replace(first, arguments=tuple(map(self._reseeded, first.arguments)))

    def varied(self, first: Call) -> Call:
        """A later call: other numbers, and now and then other values, layouts, sizes, dtypes or modes."""
        arguments = tuple(map(self._reseeded, first.arguments))
        for _ in range(self._draw.of(1, 2, 0, 3)):
            arguments = self._changed(arguments)
        call = dataclasses.replace(first, arguments=arguments, tied=None)
        return self._under(call) if self._draw.chance(2) else call

    def sizes(self, first: Call) -> list[Call]:
        """Calls with one size after another in place of one that the first has, wherever it has it."""
        known = sorted({size for spec in first.tensors for size in spec.shape})
        if not known or "broadcasting" in self._scope.missing:
            return []
        old = self._draw.choice(known)
        sizes = [self._draw.size() for _ in range(3)]
        return [
            dataclasses.replace(first, arguments=_resized(first.arguments, old, size), tied=None)
            for size in sizes
            if size or "empty" not in self._scope.missing
        ]

    def _under(self, call: Call) -> Call:
        draw, traits = self._draw, self._scope.traits
        modes = ["grad", "no_grad", "inference"]
        if draw.chance(10):
            modes = ["deterministic", "default float64", "autocast" if traits.keeps_gradients else "deterministic"]
        mode = draw.choice(modes)
        backward = self._scope.training and traits.keeps_gradients and mode not in ("no_grad", "inference")
        tensors = [place for place, each in enumerate(call.arguments) if isinstance(each, TensorSpec)]
        tied = None
        if len(tensors) > 1 and not backward and draw.chance(10):
            one, other = tensors[0], tensors[1]
            if self._alike(call.arguments[one], call.arguments[other]):
                tied = (one, other, draw.of("same", "overlap") if traits.keeps_aliases else "same")
        return dataclasses.replace(
            call,
            mode=mode,
            backward=backward,
            train=traits.trains and draw.chance(4),
            thread=draw.chance(6),
            tied=tied,
        )

    @staticmethod
    def _alike(one: Argument, other: Argument) -> bool:
        return (
            isinstance(one, TensorSpec)
            and isinstance(other, TensorSpec)
            and (one.shape, one.dtype, one.layout) == (other.shape, other.dtype, other.layout)
        )

    def _reseeded(self, argument: Argument) -> Argument:
        if isinstance(argument, Scalar):
            return argument
        return dataclasses.replace(argument, seed=argument.seed + 1)

    def _changed(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        draw, scope = self._draw, self._scope
        what = draw.of("values", "values", "layout", "sizes", "scalar", "dtype")
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
                if isinstance(each, Scalar):
                    changed[place] = Scalar(
                        each.kind, draw.of(3, 1, 0) if each.kind == "int" else draw.of(2.5, -1.0, 0.0)
                    )
            return tuple(changed)
        place = draw.choice(tensors)
        spec = arguments[place]
        assert isinstance(spec, TensorSpec)
        match what:
            case "values":
                changed[place] = dataclasses.replace(spec, values=_value(draw, scope))
            case "layout":
                changed[place] = dataclasses.replace(spec, layout=_layout(draw, scope, spec.shape))
            case "dtype" if not scope.training:
                changed[place] = dataclasses.replace(spec, dtype=_dtype(draw, scope))
        return tuple(changed)


def _resized(arguments: Sequence[Argument], old: int, new: int) -> tuple[Argument, ...]:
    """Arguments with one size in place of another, wherever that is."""
    return tuple(
        dataclasses.replace(each, shape=tuple(new if size == old else size for size in each.shape))
        if isinstance(each, TensorSpec)
        else each
        for each in arguments
    )
