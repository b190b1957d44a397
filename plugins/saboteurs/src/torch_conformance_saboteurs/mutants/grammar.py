"""What a mutant is, as plain data, and how one is drawn: condition, effect and place.

A specification is ``{"toolchain": ..., "place": ..., "when": {axis: value, ...}, "effect": ...}``; all conditions of
``when`` hold together. Imports no torch.
"""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

from torch_conformance_saboteurs.mutants.operators import FAMILIES, FLOATS, OPERATORS, Operator, meant_by

Spec = dict[str, Any]

#: The environment variable that tells a mutant which it is, as JSON, and the one that names where firings are counted.
VARIABLE = "CONFORMANCE_MUTANT"
FIRINGS = "CONFORMANCE_MUTANT_FIRINGS"

PLACES = {
    "operator": "in an operator, while compiled code runs",
    "call": "around a call of compiled code",
    "backward": "in the backward pass",
    "lowering": "while a model is lowered",
    "load": "where an artifact is loaded",
    "release": "when a lowered model is destroyed",
}

#: What one tensor is like: the same tensor must have all of these.
TENSOR_AXES: dict[str, tuple[str, ...]] = {
    "dtype": (
        "float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64"
    ),
    "size": ("empty", "one", "odd", "prime", "power of two", "beside a power of two", "over 1024", "over 32768"),
    "rank": ("0", "1", "2", "3", "4", "5"),
    "layout": ("transposed", "stepped", "offset", "expanded", "channels_last"),
    "values": (
        "zero", "all zero", "negative zero", "negative", "ties", "repeated", "infinite", "NaN", "extreme", "denormal",
        "large", "halves", "ones", "sorted",
    ),
}  # fmt: skip
#: What the tensors of one call are like together.
CALL_AXES: dict[str, tuple[str, ...]] = {
    "operands": ("mixed dtypes", "Python scalar", "0-dim beside others", "one tensor twice", "shared memory",
                 "broadcast"),
    "inputs": ("requires grad", "three or more", "refilled", "the same again"),
    "outputs": ("several", "an input", "a view of an input", "one twice"),
}  # fmt: skip
#: What happened before, and around.
HISTORY_AXES: dict[str, tuple[str, ...]] = {
    "call": ("first", "second", "third and later", "even"),
    "earlier": ("a failed call", "another shape", "another dtype"),
    "models": ("second lowered", "another alive", "a twin", "one was dropped"),
    "thread": ("another",),
    "mode": ("grad", "no_grad", "inference", "autocast", "default dtype", "deterministic"),
    "origin": ("loaded", "copied"),
    "weights": ("changed in place", "replaced"),
}
AXES: dict[str, tuple[str, ...]] = {
    "operator": (*FAMILIES, *(each.name for each in OPERATORS)),
    **TENSOR_AXES,
    **CALL_AXES,
    **HISTORY_AXES,
}


@dataclasses.dataclass(frozen=True)
class Effect:
    """What a mutant does wrong, in words, where it can do that, and how often it is drawn beside others."""

    text: str
    places: tuple[str, ...]
    weight: float = 1.0


_VALUES = ("operator", "call")
_ANYWHERE = ("operator", "call", "lowering", "load", "backward")
_CRASHING = (*_ANYWHERE, "release")

EFFECTS: dict[str, Effect] = {
    "off a little": Effect("every element is off by a hundredth (whole numbers by one)", _VALUES, 3),
    "one element": Effect("one element in the middle is wrong", _VALUES, 2),
    "last element": Effect("the last element is wrong", _VALUES, 2),
    "last row": Effect("the last row is wrong", _VALUES, 1),
    "rounded": Effect("the result was rounded to a narrower type", _VALUES, 1.5),
    "NaN to zero": Effect("NaN comes out as zero", _VALUES, 1),
    "negative zero lost": Effect("-0.0 comes out as 0.0", _VALUES, 1),
    "infinity to largest": Effect("an infinity comes out as the largest number", _VALUES, 1),
    "denormals flushed": Effect("denormal numbers come out as zero", _VALUES, 1),
    "last of ties": Effect("of equal elements the last is taken, where the first is promised", ("operator",), 1),
    "other dtype": Effect("the result has another dtype", _VALUES, 1.5),
    "other strides": Effect("the result lies otherwise in memory", _VALUES, 1.5),
    "other shape": Effect("the result has a dimension more or less", _VALUES, 1),
    "copied": Effect("what should share memory is a copy", _VALUES, 1.5),
    "in the input's memory": Effect("the result is written over an input, and shares its memory", _VALUES, 1),
    "input written": Effect("the last element of an input is overwritten", _VALUES, 1.5),
    "former returned": Effect("the result of an earlier call is returned again", _VALUES, 1.5),
    "former overwritten": Effect("the result is written over that of an earlier call", _VALUES, 1.5),
    "zeros returned": Effect("zeros are returned", _VALUES, 0.5),
    "error swallowed": Effect("where an error is due, zeros are returned", ("call",), 1),
    "other error": Effect("where an error is due, one of another kind is raised", ("call",), 0.7),
    "error": Effect("an error is raised where none is due", _ANYWHERE, 0.7),
    "crash": Effect("the process is aborted", _CRASHING, 0.4),
    "hang": Effect("it does not come back", _CRASHING, 0.12),
    "random numbers drawn": Effect("random numbers of PyTorch's generator are used up", _CRASHING, 0.6),
    "Python's random numbers drawn": Effect("random numbers of Python's generator are used up", _CRASHING, 0.3),
    "grad mode left": Effect("grad mode is left switched", _CRASHING, 0.4),
    "default dtype left": Effect("the default dtype is left changed", _CRASHING, 0.4),
    "threads left": Effect("the number of threads is left changed", _CRASHING, 0.4),
    "directory left": Effect("the working directory is left changed", _CRASHING, 0.4),
    "environment left": Effect("a variable of the environment is left behind", _CRASHING, 0.4),
    "determinism left": Effect("deterministic algorithms are left switched on", _CRASHING, 0.3),
    "function replaced": Effect("a function of PyTorch is left replaced", _CRASHING, 0.4),
    "memory kept": Effect("tensors are never freed", ("call", "backward"), 0.6),
    "stale weights": Effect("weights of an earlier call are used", ("call",), 3),
    "requires_grad lost": Effect("the result is cut off from Autograd", ("call",), 1),
    "weights off": Effect("a weight has one wrong element", ("lowering", "load"), 2),
    "weights rounded": Effect("weights were rounded to a narrower type", ("lowering", "load"), 2),
    "constant off": Effect("a number in the program is another", ("lowering",), 2),
    "gradient off": Effect("a gradient is off by a tenth", ("backward",), 2),
    "gradient zero": Effect("a gradient is zero", ("backward",), 1.5),
    "gradient doubled": Effect("a gradient is doubled", ("backward",), 1.5),
    "gradient missing": Effect("a gradient is None", ("backward",), 1.5),
    "gradient of one element": Effect("one element of a gradient is wrong", ("backward",), 2),
}

_NEEDS_VALUE = {
    "NaN to zero": ("NaN",),
    "negative zero lost": ("negative zero",),
    "infinity to largest": ("infinite",),
    "denormals flushed": ("denormal",),
    "last of ties": ("ties", "repeated"),
}
_ELEMENTS = ("off a little", "one element", "last element", "last row", "rounded", "zeros returned")
_LATER = ("former returned", "former overwritten", "stale weights")
_TIES = ("argmax", "argmin", "max", "min", "sort", "argsort")
#: Operators whose witnesses have a number in them.
WITH_NUMBERS = (
    "pow",
    "softmax",
    "log_softmax",
    "amax",
    "amin",
    "cumsum",
    "cumprod",
    "roll",
    "topk",
    "clamp",
    "transpose",
)
_FLOAT_VALUES = ("negative zero", "infinite", "NaN", "denormal", "halves")
_SHARING = ("view", "in-place")
_MOVING = ("view", "joining", "indexing", "scatter", "copying", "selection", "activation")
#: Families whose results can have what an effect speaks of.
_PASSING = {
    "NaN to zero": (*_MOVING, "unary", "binary", "reduction", "cumulative", "matmul", "convolution", "norm", "softmax"),
    "infinity to largest": (*_MOVING, "unary", "binary", "reduction", "cumulative", "matmul"),
    "negative zero lost": (*_MOVING, "unary"),
    "denormals flushed": (*_MOVING, "unary"),
}


@dataclasses.dataclass(frozen=True)
class Dialect:
    """What the mutants of one toolchain can be like."""

    toolchain: str
    #: Where they can be wrong, and how often each place is drawn beside others.
    places: dict[str, float]
    #: Effects that cannot come about, or that break no promise.
    lacks: frozenset[str]
    #: Effects that can come about in these places alone.
    narrowed: dict[str, tuple[str, ...]]
    #: Conditions that never hold, by axis and value.
    never: frozenset[tuple[str, str]]
    #: Conditions on axes that can hold in these places alone.
    held_in: dict[str, tuple[str, ...]]

    def effects_at(self, place: str) -> dict[str, Effect]:
        """What can go wrong in a place."""
        return {
            name: each
            for name, each in EFFECTS.items()
            if name not in self.lacks and place in each.places and place in self.narrowed.get(name, each.places)
        }

    def holds(self, place: str, when: dict[str, str]) -> bool:
        """Whether all the conditions can hold in a place."""
        return not self.never & set(when.items()) and all(place in self.held_in.get(axis, PLACES) for axis in when)


def draw(random: Random, dialect: Dialect) -> Spec:
    """One mutant of a toolchain that makes sense."""
    while True:
        spec = _any(random, dialect)
        if makes_sense(spec, dialect):
            return spec


def _any(random: Random, dialect: Dialect) -> Spec:
    place = random.choices(list(dialect.places), list(dialect.places.values()))[0]
    choices = dialect.effects_at(place)
    effect = random.choices(list(choices), [each.weight for each in choices.values()])[0]
    when: dict[str, str] = {}
    if place in ("operator", "backward", "lowering") and random.random() < 0.75:
        when["operator"] = random.choice(FAMILIES if random.random() < 0.6 else [each.name for each in OPERATORS])
    axes = {**(TENSOR_AXES if place not in ("load", "release") else {}), **HISTORY_AXES}
    if place in ("operator", "call", "backward"):
        axes |= CALL_AXES if place == "call" else {"operands": CALL_AXES["operands"]}
    wanted = random.choices((1, 2, 3), (30, 50, 20))[0]
    if effect in _NEEDS_VALUE:
        when["values"] = random.choice(_NEEDS_VALUE[effect])
    while len(when) < wanted:
        axis = random.choice(list(axes))
        when.setdefault(axis, random.choice(axes[axis]))
    return {"toolchain": dialect.toolchain, "place": place, "when": when, "effect": effect}


def operators_of(when: dict[str, str]) -> list[Operator]:
    """The operators with which all that ``when`` says of one can hold."""
    candidates = meant_by(when["operator"]) if "operator" in when else OPERATORS
    return [each for each in candidates if _fits(each, when)]


def _fits(operator: Operator, when: dict[str, str]) -> bool:
    if "dtype" in when and when["dtype"] not in operator.dtypes:
        return False
    if "rank" in when and int(when["rank"]) not in operator.ranks:
        return False
    operands = when.get("operands", "")
    takes_y = any(name == "y" and "x.shape)" in text for name, text in operator.others)
    if operands and operator.family not in ("binary", "comparison", "logic"):
        return False
    return not operands or takes_y


def makes_sense(spec: Spec, dialect: Dialect) -> bool:
    """Whether the parts of a specification can come together in some program."""
    when, effect, place = spec["when"], spec["effect"], spec["place"]
    if not dialect.holds(place, when):
        return False
    if place in ("operator", "backward") and not operators_of(when):
        return False
    if place == "backward" and not any(each.differentiable for each in operators_of(when)):
        return False
    return _tensor_makes_sense(when) and _effect_makes_sense(effect, place, when) and _place_makes_sense(place, when)


def _tensor_makes_sense(when: dict[str, str]) -> bool:
    dtype, size, rank = when.get("dtype", ""), when.get("size", ""), when.get("rank", "")
    layout, values = when.get("layout", ""), when.get("values", "")
    if values and dtype == "bool":
        return False
    if values and dtype == "complex64" and values not in ("zero", "all zero"):
        return False
    if values in _FLOAT_VALUES and dtype and dtype not in FLOATS:
        return False
    if values in ("negative", "large") and dtype in ("uint8", "int8", "int16"):
        return False
    if rank == "0" and (size not in ("", "one") or layout or values in ("ties", "repeated", "sorted")):
        return False
    if size in ("empty", "one") and (values or layout):
        return False
    if layout == "channels_last" and (rank not in ("", "4") or size in ("prime",)):
        return False
    if layout in ("transposed", "channels_last") and (rank == "1" or size == "prime"):
        return False
    return not (layout == "expanded" and values in ("sorted", "one"))


def _effect_makes_sense(effect: str, place: str, when: dict[str, str]) -> bool:
    operators = operators_of(when) if "operator" in when else []
    if effect in _NEEDS_VALUE and when.get("values") not in _NEEDS_VALUE[effect]:
        return False
    if operators and not any(each.family in _PASSING.get(effect, FAMILIES) for each in operators):
        return False
    if effect == "last of ties" and not any(each.name in _TIES for each in operators):
        return False
    if effect in (*_ELEMENTS, *_LATER) and when.get("size") == "empty":
        return any(each.family == "reduction" for each in operators) and effect in ("off a little", "last element")
    if effect == "rounded" and when.get("dtype", "float64") not in ("float64", "float32", "int64"):
        return False
    if effect == "other strides" and (when.get("rank") in ("0",) or when.get("size") in ("empty", "one")):
        return False
    if effect == "copied":
        if place == "call":
            return when.get("outputs") in ("an input", "a view of an input")
        return bool(operators) and all(each.family in _SHARING for each in operators)
    if effect in _LATER and when.get("call") == "first":
        return False
    if effect == "stale weights":
        return "weights" in when and when.get("outputs") is None
    if effect == "zeros returned" and when.get("values") == "all zero":
        return False
    if effect == "requires_grad lost":
        return (
            when.get("mode") in (None, "grad", "autocast", "deterministic") and when.get("dtype", "float32") in FLOATS
        )
    if effect == "constant off" and operators:
        return any(each.name in WITH_NUMBERS for each in operators)
    if effect in ("error swallowed", "other error"):
        return not {"outputs", "models"} & set(when)
    return True


def _place_makes_sense(place: str, when: dict[str, str]) -> bool:
    if place == "backward":
        floating = when.get("dtype", "float32") in FLOATS
        return floating and when.get("mode") in (None, "grad", "autocast", "deterministic", "default dtype")
    if place == "lowering":
        # Sizes may be symbols then, and to compare these would be to guard them.
        return (
            when.get("earlier") != "another shape"
            and not {"call", "values", "layout", "weights", "origin", "size"} & set(when)
            and (when.get("mode") != "inference")
        )
    if place in ("load", "release"):
        return not {"call", "weights", "mode", "earlier"} & set(when) and (place == "load" or "origin" not in when)
    if place == "call" and when.get("operands") == "Python scalar":
        return False
    if when.get("inputs") == "requires grad":
        return when.get("dtype", "float32") in FLOATS and when.get("mode") not in ("no_grad", "inference")
    return not (when.get("weights") and when.get("mode") == "inference")


def sentence(spec: Spec) -> str:
    """A specification in words."""
    conditions = ", ".join(f"{axis} {value}" for axis, value in sorted(spec["when"].items()))
    return f"{PLACES[spec['place']]}, when {conditions}: {EFFECTS[spec['effect']].text}"
