"""Programs as hypothesis draws them, and the arguments that each is drawn for."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Sequence

from conformance.api.features import OF_DTYPES
from conformance.generate import OPERATORS, THEMES_OF_PROGRAMS, TRAINING
from conformance.generate.axes import AXES
from conformance.generate.drawing import FLOATS, HUGE_SIZE, LARGE_SIZES, Draw
from conformance.generate.grammar import RULES, Abandoned, Builder, Rule
from conformance.generate.grammar.chains import chain
from conformance.generate.grammar.flow import where_given, with_listed_numbers
from conformance.generate.grammar.losses import LOSSES
from conformance.generate.grammar.rules import RuleFunction
from conformance.generate.program import SECOND, Absent, Argument, Listed, Program, Scalar, TensorSpec
from conformance.toolchains import ProgramTraits

#: What the values of an argument may be like: most often those about which backends differ most.
_VALUES = (*AXES["value"], "nan", "nan", "nan", "inf")
#: The most statements of a program. Where each kind of call is compiled anew, a statement costs several times as much.
_MOST_STATEMENTS, _MOST_WHERE_COMPILED = 12, 8
#: So many links of chains a program has in the place of each statement.
_LINKS_FOR_A_STATEMENT = 2
#: Results of a program at most, unless its operators are side by side.
_MOST_RESULTS = 8
#: Statements of the long program that is drawn now and then.
_MANY_STATEMENTS = 30
#: Python numbers as arguments, by their type; some do not fit into 32 bits.
NUMBERS: dict[str, tuple[float, ...]] = {"int": (2, 1, 3, 0, 2**33 + 1), "float": (1.5, 0.0, -2.0, 0.1)}
_NOT_FINITE = ("inf", "minus_inf", "nan", "all_nan", "extremes", "minus_zero", "tiny", "masked")
#: Whole numbers from here on cannot be saved as floats by TorchScript: reports/findings/jit_large_float.py.
_NO_WHOLE_FLOAT = 10**10
#: What becomes a whole number, if it is none.
_TO_WHOLE = re.compile(r"\btorch\.u?int\d+\b|\.(?:int|long|short|char|byte)\(\)")
_LAYOUTS = ("contiguous", "transposed", "swapped", "stepped", "offset", "expanded", "channels_last", "conj_view")
#: Which families a theme draws from, beside all others.
FAMILIES = {
    **{theme: (theme,) for theme in THEMES_OF_PROGRAMS if theme != OPERATORS},
    "elementwise": ("elementwise", "flow"),
    TRAINING: ("elementwise", "matrices", "reductions", "networks", "views"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """What trials are drawn for: a theme, what models of a toolchain can do, and the features that are missing."""

    theme: str
    traits: ProgramTraits
    missing: frozenset[str] = frozenset()
    #: Whether arguments require grad, and calls are gone back from.
    training: bool = False
    #: Whether programs are of operators side by side, whatever they are about.
    side_by_side: bool = False

    @property
    def takes_methods(self) -> bool:
        """Whether a model may have methods beside ``forward``."""
        return bool(self.traits.decorator_of_methods) and "several_methods" not in self.missing

    @property
    def takes_lists(self) -> bool:
        """Whether an argument may be a list of numbers."""
        return self.traits.takes_lists and "nested_values" not in self.missing

    @property
    def takes_optionals(self) -> bool:
        """Whether arguments may be None."""
        return self.traits.takes_none and not {"optionals", "control_flow", "elementwise"} & self.missing

    @property
    def is_side_by_side(self) -> bool:
        """Whether programs are of operators side by side, on as many arguments as can be."""
        return (self.side_by_side or self.theme == OPERATORS) and "several_outputs" not in self.missing


@functools.lru_cache(maxsize=256)
def _rules(
    families: tuple[str, ...], traits: ProgramTraits, missing: frozenset[str], by_operators: bool = False
) -> tuple[Rule, ...]:
    """Rules as often as they weigh, or as they have operators; all families where none is given."""
    return tuple(
        each
        for each in RULES
        if (not families or each.family in families)
        and all(getattr(traits, trait) for trait in each.traits)
        and not missing.intersection(each.needs)
        for _ in range(each.operators if by_operators else each.weight)
    )


def draw_program(draw: Draw, scope: Scope, most: int | None = None) -> tuple[Program, list[Argument]]:
    """A program of ``most`` statements or fewer, and the arguments that it is drawn for."""
    most = most or (_MOST_WHERE_COMPILED if scope.traits.trains else _MOST_STATEMENTS)
    builder = Builder(draw, scope.traits, scope.missing, side_by_side=scope.is_side_by_side)
    arguments = _arguments(draw, scope, builder)
    if "parameters" not in scope.missing and draw.chance(3):
        _state(draw, scope, builder)
    focus: Sequence[Rule] = _rules(FAMILIES.get(scope.theme, ()), scope.traits, scope.missing)
    everything: Sequence[Rule] = _rules((), scope.traits, scope.missing, by_operators=scope.is_side_by_side)
    if scope.theme == TRAINING and draw.chance(2):
        # few rules are about the way back
        focus = [each for each in everything if "trains" in each.traits] or focus
    has_few_kinds = not scope.is_side_by_side and draw.chance(4)
    if has_few_kinds:
        # a compiler that takes a program only as a whole, such as row by row, is given wholes of few kinds
        focus = everything = [draw.choice(focus or everything) for _ in range(3)]
    has_own_state = scope.traits.keeps_state and not scope.traits.keeps_writes
    if (scope.is_side_by_side and draw.chance(3)) or (has_own_state and draw.chance(8)):
        _write_first(builder, scope)
    if builder.optionals:
        _begin_with(builder, where_given)
    if scope.takes_lists and builder.scalars:
        _begin_with(builder, with_listed_numbers)
    wanted = 1 + draw.upto(most - 1) if not draw.chance(40) else _MANY_STATEMENTS
    # what was written is there for what follows to read, and chains begin with arguments
    if not scope.is_side_by_side and not has_few_kinds and "writes" not in builder.marks and draw.chance(3):
        _chains(builder, _LINKS_FOR_A_STATEMENT * most)
    else:
        _statements(builder, wanted, focus, everything)
    if scope.theme == TRAINING and draw.chance(3):
        _end_in_a_loss(builder, everything)
    result = _result(draw, scope, builder)
    program = builder.program(result)
    if not scope.takes_methods or not draw.chance(5):
        return program, arguments
    if draw.chance(2) and (near := near_twin_of(draw, program)) is not None:
        second = near.all_methods[0]  # graphs that nothing else tells apart
    else:
        other = builder.beside()
        _statements(other, 1 + draw.upto(most - 1), focus, everything)
        second = other.method(_result(draw, scope, other))
    second = dataclasses.replace(second, name=SECOND, decorator=scope.traits.decorator_of_methods)
    return builder.program(result, [second]), arguments


def _statements(builder: Builder, wanted: int, focus: Sequence[Rule], everything: Sequence[Rule]) -> None:
    """Add statements until there are so many, or too many could not be made."""
    draw = builder.draw
    last: Rule | None = None
    for _ in range(wanted * 3):
        if builder.length >= wanted:
            break
        rules = focus if focus and not draw.chance(3) else everything
        rule, aim = draw.choice(rules), None
        if last is not None and draw.chance(6):
            # compilers combine what is alike, one behind the other, or two of the same operand
            rule, aim = last, draw.of(builder.values[-1], builder.first_picked)
        builder.begin_statement(aim)
        with contextlib.suppress(Abandoned):
            rule.function(builder)
            last = rule


def _chains(builder: Builder, wanted: int) -> None:
    """Add chains of operators, side by side, until there are so many statements."""
    for _ in range(wanted):
        if builder.length >= wanted:
            break
        builder.begin_statement()
        with contextlib.suppress(Abandoned):
            chain(builder, builder.draw.of(4, 3, 5))


def near_twin_of(draw: Draw, program: Program) -> Program | None:
    """A program that differs in a single number or function, which a cache may confuse with the one that it had; None
    where there is neither. Such a number may be an attribute of a submodule."""
    if draw.chance(2):
        other = program.with_attribute(lambda factor, shift: (factor, str(int(shift) + 1)))
        if other is not None:
            return other
    numbers, functions = program.numbers(), program.functions()
    if not numbers and not functions:
        return None
    if functions and (not numbers or draw.chance(3)):
        return program.with_other_function(draw.choice(functions))
    place = draw.choice(numbers)
    # Whole numbers are cast to narrower ones as they are; of floats beyond these PyTorch leaves open what they become.
    is_cast = any(_TO_WHOLE.search(line.text) for line in program.lines[place[0] :])
    near = _near(program.lines[place[0]].text[place[1] : place[2]], of_its_type=is_cast)
    return program.with_number(place, draw.choice(near))


def _near(number: str, *, of_its_type: bool) -> tuple[str, ...]:
    """Numbers that a cache may confuse with this one: of another type, of the other sign, or next to it."""
    if number.lstrip("-").isdigit():
        other = f"{int(number) + 1}"
        may_be_float = abs(int(number)) < _NO_WHOLE_FLOAT and not of_its_type
        return (f"{number}.0", other) if may_be_float else (other,)
    return f"{float(number) + 0.25}", f"{-float(number)}"


def _write_first(builder: Builder, scope: Scope) -> None:
    """Begin with a write to what outlives the call. A backend that finds out late that it lacks an operator, and has
    PyTorch run the graph from its beginning, writes twice; and what is kept is read by what follows."""
    rules = [each for each in _rules(("writes",), scope.traits, scope.missing) if "input_mutation" in each.needs]
    if rules:
        _begin_with(builder, builder.draw.choice(rules).function)


def _begin_with(builder: Builder, function: RuleFunction) -> None:
    with contextlib.suppress(Abandoned):
        function(builder)


def _end_in_a_loss(builder: Builder, everything: Sequence[Rule]) -> None:
    """End as training does, in a number that says how far what was computed is from what it should be."""
    losses = [each.function for each in everything if each.function in LOSSES]
    if losses:
        builder.begin_statement(builder.values[-1])
        with contextlib.suppress(Abandoned):
            builder.draw.choice(losses)(builder)


def _arguments(draw: Draw, scope: Scope, builder: Builder) -> list[Argument]:
    same = "broadcasting" in scope.missing
    sizes = [draw.size() for _ in range(3)]
    if draw.chance(6):  # what tells dimensions apart by their sizes is wrong where these are equal
        sizes = sizes[:1] * 3
    if "large" not in scope.missing and draw.chance(12):
        sizes[0] = draw.choice(LARGE_SIZES)
        sizes[1:] = [2, 3]
    # of nothing little can be wrong
    sizes = [size or (0 if "empty" not in scope.missing and draw.chance(2) else 2) for size in sizes]
    dtype = dtype_for(draw, scope, first=True)
    shape = _shape(draw, scope, sizes)
    if "large" not in scope.missing and draw.chance(25):
        shape = (HUGE_SIZE,)
    arguments: list[Argument] = []
    for index in range(_arity(draw, scope)):
        if index and not same:
            dtype = dtype_for(draw, scope) if draw.chance(2 if scope.is_side_by_side else 4) else dtype
            if scope.theme == "networks" and "integers" not in scope.missing and draw.chance(4):
                dtype = "int64"  # something to be looked up
            if shape != (HUGE_SIZE,) and (scope.is_side_by_side or not draw.chance(3)):
                shape = _shape(draw, scope, sizes)
        grad = scope.training and dtype in FLOATS and not draw.chance(5)
        spec = TensorSpec(dtype, shape, layout_for(draw, scope, shape), values_for(draw, scope), draw.seed(), grad)
        arguments.append(spec)
        builder.argument(spec)
    if "scalars" not in scope.missing and draw.chance(2 if scope.is_side_by_side else 4):
        kind = draw.of("int", "float")
        listed = 2 if scope.takes_lists and draw.chance(3) else 0
        builder.scalar(kind, listed)
        numbers = tuple(Scalar(kind, draw.choice(NUMBERS[kind])) for _ in range(listed or 1))
        arguments.append(Listed(numbers) if listed else numbers[0])
    if scope.takes_optionals and draw.chance(10):
        for _ in range(draw.of(2, 1)):
            spec = dataclasses.replace(builder.specs[0], seed=draw.seed(), grad=False)
            builder.optional(spec)
            arguments.append(Absent(spec) if draw.chance(2) else spec)
    return arguments


def _arity(draw: Draw, scope: Scope) -> int:
    """Of how many tensors a program is."""
    if draw.chance(40):
        return 9
    return draw.of(4, 3, 5, 6) if scope.is_side_by_side else draw.of(2, 1, 3)


def _state(draw: Draw, scope: Scope, builder: Builder) -> None:
    """A parameter or a buffer, or two, like the first argument, or a row of it, for any statement to use."""
    like = builder.specs[0]
    shape = like.shape if "zero_dim" in scope.missing else like.shape[draw.upto(1) :]
    dtype = like.dtype
    if not {"zero_dim", "broadcasting"} & scope.missing and draw.chance(4):
        shape, dtype = (), dtype_for(draw, scope)  # a temperature, a step: what it is beside others' dtypes
    layout = layout_for(draw, scope, shape, given=False)
    values = draw.of("ordinary", "one_nonzero") if dtype in FLOATS else "ordinary"
    for _ in range(draw.of(1, 2)):
        spec = TensorSpec(dtype, shape, layout, values, draw.seed(), grad=dtype in FLOATS)
        if draw.chance(2):
            builder.buffer(spec)
        else:
            builder.parameter(spec)


def dtype_for(draw: Draw, scope: Scope, *, first: bool = False) -> str:
    """The dtype of an argument."""
    wide = scope.theme == "dtypes" or not first
    if not draw.chance(2 if wide else 3):
        return "float32"
    names = ("float64", "int64", "bool", "float16", "bfloat16", "int32", "complex64", "uint8", "int8", "int16")
    lacks = scope.traits.lacks
    known = [name for name in names if OF_DTYPES[name] not in scope.missing and name not in lacks]
    if "mixed_dtypes" in scope.missing and not first:
        return "float32"
    return draw.choice(known) if known else "float32"


def _shape(draw: Draw, scope: Scope, sizes: Sequence[int]) -> tuple[int, ...]:
    one, two, three = sizes
    if "broadcasting" in scope.missing and "zero_dim" in scope.missing:
        return (one, two)
    of_images = scope.theme == "networks" or (scope.training and draw.chance(2))
    match scope.theme:
        case "matrices":
            shapes: tuple[tuple[int, ...], ...] = (
                (one, two), (two, three), (2, one, two), (one,), (two, one), (), (2, two, three), (1, 2, one, two),
            )  # fmt: skip
        case _ if of_images:
            shapes = ((1, 2, 5, 5), (2, 3, 4, 5), (one, two, 4, 4), (one, two), (2, one, 7), (one, 4, 3, 3))
        case _:
            shapes = (
                (one,), (one, two), (two, three), (), (two,), (one, two, three), (1, two), (one, 1), (two, one),
                (1, 2, three, one), (1,), (2, 1, 2, 1, three),
            )  # fmt: skip
    shape = draw.choice(shapes)
    if not shape and "zero_dim" in scope.missing:
        return (one,)
    return shape if len(shape) < 4 or of_images else tuple(min(size, 9) for size in shape)


def layout_for(draw: Draw, scope: Scope, shape: Sequence[int], *, given: bool = True) -> str:
    """How an argument of that shape lies in memory, or, where it is not ``given``, a part of the model."""
    if "non_contiguous" in scope.missing or draw.upto(4) < (1 if scope.is_side_by_side else 3):
        return "contiguous"
    if given and not scope.traits.takes_layouts:
        return "channels_last" if len(shape) == 4 else "contiguous"
    return "channels_last" if len(shape) == 4 and draw.chance(2) else draw.choice(_LAYOUTS)


def values_for(draw: Draw, scope: Scope) -> str:
    """What the values of an argument are like."""
    if not draw.chance(2):
        return "ordinary"
    kinds = [each for each in _VALUES if "non_finite" not in scope.missing or each not in _NOT_FINITE]
    return draw.choice(kinds)


def _result(draw: Draw, scope: Scope, builder: Builder) -> str:
    names = [str(value) for value in builder.values if value.origin == "made"]
    last = names[-1] if names else "x0 + x0"
    if scope.is_side_by_side and len(names) > 1:
        return f"({', '.join(names)})"
    if "several_outputs" in scope.missing or len(names) < 2:
        return last
    used = builder.used
    # what nothing else uses would show nothing otherwise
    ends = [name for name in reversed(names) if name not in used] or [last]
    if draw.chance(4 if len(ends) == 1 else 8):
        return last
    match draw.of("ends", "ends", "everything", "some"):
        case "ends":
            chosen = ends[:_MOST_RESULTS]
        case "everything":  # a compiler may compute right what it uses itself, and give it wrong
            chosen = names[: -_MOST_RESULTS - 1 : -1]
        case _:
            chosen = [*ends[:_MOST_RESULTS], *(name for name in names if name in used and draw.chance(3))]
    if draw.chance(8):
        chosen.append(draw.choice([last, "x0"]))
    if len(chosen) == 1:
        return last if "single_tuple" in scope.missing or not draw.chance(4) else f"({last},)"
    listed = ", ".join(chosen)
    sized = [value for value in builder.values if value.origin == "argument" and value.rank]
    if sized and scope.traits.gives_numbers and "scalars" not in scope.missing and draw.chance(8):
        size = f"{draw.choice(sized)}.shape[0]"
        return f"({listed}, {draw.of(size, f'{size} * 2', f'{size} > 2')})"
    if "nested_values" not in scope.missing and draw.chance(6):
        # keys that are in no order by themselves
        return draw.of(f"[{listed}]", "{" + ", ".join(f'"{7 * i % 9}": {name}' for i, name in enumerate(chosen)) + "}")
    return f"({listed})"
