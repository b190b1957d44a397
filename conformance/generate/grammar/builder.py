"""A program while it is drawn: its values so far, on the meta device, and the statements that made them.

Whether a statement is valid is asked of PyTorch, which computes sizes and dtypes on the meta device: one that it
refuses is not taken.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import torch

from conformance.generate.dead_code import names_used
from conformance.generate.drawing import Draw
from conformance.generate.grammar.lacking import asked
from conformance.generate.grammar.spelling import spelt
from conformance.generate.inputs import conj_view, exchanged
from conformance.generate.program import FORWARD, OPTIONAL, OWN_CLASS, Line, Method, Program, TensorSpec
from conformance.toolchains import ProgramTraits

#: Elements that a value may have at most: a program must not take long.
_MOST_ELEMENTS = 70_000
#: Pieces of one element each that a value may be taken apart in: Dynamo takes minutes for thousands.
MOST_PIECES = 64
#: The same of a parameter, a buffer, or the parameters of a submodule.
_MOST_WEIGHTS = 1_500_000

#: What every program knows by name.
_KNOWN: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
exec(OWN_CLASS, _KNOWN)
_KNOWN.pop("__builtins__")


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """A tensor of a program: its name, and what the meta device knows of it.

    ``origin`` is "argument", "state", or "made"; ``fresh`` is true where the program may write to it as it likes.
    """

    name: str
    meta: torch.Tensor
    origin: str
    fresh: bool

    @property
    def dtype(self) -> torch.dtype:
        return self.meta.dtype

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.meta.shape)

    @property
    def rank(self) -> int:
        return self.meta.dim()

    @property
    def floating(self) -> bool:
        return self.dtype.is_floating_point

    @property
    def integral(self) -> bool:
        return not self.floating and not self.dtype.is_complex and self.dtype != torch.bool

    def __str__(self) -> str:
        return self.name


class Abandoned(Exception):
    """A rule found nothing among the values that it can be about."""


class Builder:
    """Makes a program statement by statement. ``missing`` are the features that it must do without.

    Statements are made from one another, or ``side_by_side`` from what the program was given.
    """

    def __init__(
        self, draw: Draw, traits: ProgramTraits, missing: Collection[str] = (), *, side_by_side: bool = False
    ) -> None:
        self.draw = draw
        self.traits = traits
        self.missing = missing
        self._side_by_side = side_by_side
        self.values: list[Value] = []
        self.scalars: list[tuple[str, str]] = []
        #: Arguments that may be None, as they are where they are not.
        self.optionals: list[Value] = []
        self.marks: set[str] = set()
        self._lines: list[Line] = []
        self._arguments: list[tuple[str, str]] = []
        self._specs: list[TensorSpec] = []
        self._parameters: list[tuple[str, TensorSpec]] = []
        self._buffers: list[tuple[str, TensorSpec]] = []
        self._modules: list[tuple[str, str]] = []
        self._names: dict[str, Any] = {**_KNOWN, "self": _State()}
        self._counter = 0
        self._aim: Value | None = None
        #: What the last statement was made of, its first operand; None where it was made of nothing.
        self.first_picked: Value | None = None

    # What a program begins with.

    def argument(self, spec: TensorSpec) -> Value:
        """A tensor among the arguments of ``forward``."""
        name = f"x{len(self._arguments)}"
        self._arguments.append((name, "Tensor"))
        self._specs.append(spec)
        return self._add(Value(name, _meta(spec), "argument", fresh=False))

    def optional(self, spec: TensorSpec) -> None:
        """A tensor among the arguments of ``forward``, or None."""
        name = f"x{len(self._arguments)}"
        self._arguments.append((name, OPTIONAL))
        self._names[name] = _meta(spec)
        self.optionals.append(Value(name, self._names[name], "argument", fresh=False))

    def scalar(self, kind: str, listed: int = 0) -> None:
        """A Python number among the arguments of ``forward``, or ``listed`` numbers in a list."""
        name, number = f"x{len(self._arguments)}", {"int": 2, "float": 1.5, "bool": True}[kind]
        self._arguments.append((name, f"list[{kind}]" if listed else kind))
        self.scalars += [(f"{name}[{place}]", kind) for place in range(listed)] or [(name, kind)]
        self._names[name] = [number] * listed or number

    def parameter(self, spec: TensorSpec) -> Value:
        """A parameter of the model."""
        return self._state("p", self._parameters, spec)

    def buffer(self, spec: TensorSpec) -> Value:
        """A buffer of the model."""
        return self._state("b", self._buffers, spec)

    def _state(self, letter: str, known: list[tuple[str, TensorSpec]], spec: TensorSpec) -> Value:
        if elements(spec.shape) > _MOST_WEIGHTS:
            raise Abandoned
        name = f"{letter}{len(known)}"
        known.append((name, spec))
        tensor = _meta(spec)
        setattr(self._names["self"], name, tensor)  # the same: a view of it is known by its memory
        value = Value(f"self.{name}", tensor, "state", fresh=False)
        self.values.append(value)
        return value

    def module(self, constructor: str) -> str:
        """A submodule, by the source of its constructor; the expression that calls it. Raises Abandoned for one of too
        many weights."""
        name = f"m{len(self._modules)}"
        with torch.device("meta"):
            made = eval(constructor, self._names).eval()
        if sum(weight.numel() for weight in made.parameters()) > _MOST_WEIGHTS:
            raise Abandoned
        self._modules.append((name, constructor))
        setattr(self._names["self"], name, made)
        return f"self.{name}"

    # Values to make others from.

    def pick(self, wanted: Callable[[Value], bool] = lambda value: True) -> Value:
        """A value of that kind; later ones more often. Raises Abandoned where there is none.

        What the statement is aimed at, if that is one. Now and then one that nothing made: only these have the layouts
        and values that were drawn for them.
        """
        found = [value for value in reversed(self.values) if wanted(value)]
        if not found:
            raise Abandoned
        picked = self._picked(found)
        if self.first_picked is None:
            self.first_picked = picked
        return picked

    def begin_statement(self, aim: Value | None = None) -> None:
        """Forget what the last one was made of; ``aim`` is what this one is to be made of, if it can be."""
        self._aim, self.first_picked = aim, None

    def _picked(self, found: Sequence[Value]) -> Value:
        aim, self._aim = self._aim, None
        if aim is not None and aim in found:
            return aim
        given = [value for value in found if value.origin != "made"]
        if given and self.draw.chance(3) != self._side_by_side:
            return self.draw.choice(given)
        return found[min(self.draw.upto(len(found) - 1), self.draw.upto(len(found) - 1))]

    def float_value(self, rank: int | None = None, least: int = 0) -> Value:
        """A floating-point one, of that rank or of at least so many dimensions."""
        return self.pick(lambda value: value.floating and value.rank >= least and (rank is None or value.rank == rank))

    def number(self, value: Value | None = None) -> str:
        """A Python number, as a program writes it; whole where the value beside it is."""
        if self.scalars and self.draw.chance(2):
            kinds = ("int",) if value is not None and not value.floating else ("int", "float")
            found = [each for each in self.scalars if each[1] in kinds]
            if found:
                return self._computed(*self.draw.choice(found))
        if value is not None and value.rank and self.draw.chance(5):
            return self._computed(f"{value}.shape[{self.draw.upto(value.rank - 1)}]", "int")
        whole = value is not None and (value.integral or value.dtype == torch.bool)
        numbers = ("2", "3", "-1", "0", "7") if whole else ("2", "0.5", "-1.5", "0", "1e-3", "3.7", "1.23456789")
        return self.draw.choice(numbers)

    def _computed(self, number: str, kind: str) -> str:
        """A Python number, or now and then what Python computes of it: models count halves, rests and what is left."""
        if self.draw.chance(2):
            return number
        forms = ("-(-{0} // 2)", "(1 - {0}) // 2", "{0} % 3 - 1", "2 - {0}", "({0} - 3) % 4", "max({0}, 2)", "-{0}")
        return f"({self.draw.choice(forms if kind == 'int' else ('{0} * 0.5', '-{0}', '1.0 - {0}')).format(number)})"

    def dim(self, value: Value, most: int = _MOST_ELEMENTS) -> int:
        """A dimension of at most so many places, counted from either end. Raises Abandoned where there is none."""
        if not value.rank:
            raise Abandoned
        chosen = self.draw.upto(value.rank - 1)
        if value.shape[chosen] > most:
            raise Abandoned
        return chosen - value.rank if self.draw.chance(2) else chosen

    # Statements.

    def make(
        self, operator: str, expression: str, *, like: str = "", fresh: bool | None = None, several: int = 1
    ) -> list[Value]:
        """Append ``v = expression``, which gives so many values. ``like`` is what has its sizes and dtype where the
        meta device cannot say; whether it is ``fresh``, and no view, is read from the memory where it is None.

        Raises Abandoned where PyTorch refuses it.
        """
        if operator in self.traits.lacks:
            raise Abandoned
        names = [self.name() for _ in range(several)]
        expression = self._spelt(expression)
        result = self._evaluate(like or expression)
        results = list(result) if isinstance(result, tuple | list) else [result]
        if len(results) < several or not all(isinstance(each, torch.Tensor) for each in results):
            raise Abandoned
        results = results[:several]
        if any(str(each.dtype).removeprefix("torch.") in self.traits.lacks for each in results):
            raise Abandoned
        if any(each.numel() > _MOST_ELEMENTS or each.dim() > 6 for each in results):
            raise Abandoned
        target = ", ".join(names) + ("," if several == 1 and isinstance(result, tuple | list) else "")
        self._lines.append(Line(operator, f"{target} = {expression}"))
        own = {id(each.meta.untyped_storage()) for each in self.values}
        memories = {each.meta.untyped_storage()._cdata for each in self.values}
        made = []
        for name, tensor in zip(names, results, strict=True):
            is_fresh = tensor.untyped_storage()._cdata not in memories and id(tensor) not in own
            self._names[name] = tensor
            made.append(self._add(Value(name, tensor, "made", is_fresh if fresh is None else fresh)))
        return made

    def write(self, operator: str, statement: str, mark: str = "") -> None:
        """Append a statement that gives no value, such as a write in place. Raises Abandoned as :meth:`make`."""
        if operator in self.traits.lacks:
            raise Abandoned
        try:
            with asked(self.missing):
                exec(statement, self._names)
        except (AttributeError, NameError, SyntaxError):
            raise  # the rule is wrong, and not what it was drawn for
        except Exception:  # PyTorch refuses arguments by exceptions of any kind
            raise Abandoned from None
        self._lines.append(Line(operator, self._spelt(statement)))
        if mark:
            self.marks.add(mark)

    def check(self, text: str) -> None:
        """Append a statement that may raise, and does nothing else."""
        self._lines.append(Line("raise", self._spelt(text)))

    def block(self, operator: str, text: str, name: str, like: str) -> Value:
        """Append a statement of several lines that binds ``name`` to something of the sizes and dtype of ``like``."""
        tensor = self._evaluate(like)
        if not isinstance(tensor, torch.Tensor):
            raise Abandoned
        self._lines.append(Line(operator, self._spelt(text)))
        self._names[name] = tensor
        return self._add(Value(name, tensor, "made", fresh=False))

    def name(self) -> str:
        """A name that no value has."""
        self._counter += 1
        return f"v{self._counter - 1}"

    def _spelt(self, text: str) -> str:
        return spelt(text, self.draw.chance)

    def _evaluate(self, expression: str) -> Any:
        try:
            with asked(self.missing):
                return eval(expression, self._names)
        except (AttributeError, NameError, SyntaxError):
            raise  # the rule is wrong, and not what it was drawn for
        except Exception:  # PyTorch refuses arguments by exceptions of any kind
            raise Abandoned from None

    def _add(self, value: Value) -> Value:
        self._names.setdefault(value.name, value.meta)
        self.values.append(value)
        return value

    @property
    def specs(self) -> list[TensorSpec]:
        """Of the arguments that are tensors, in order."""
        return self._specs

    @property
    def lines(self) -> Sequence[Line]:
        """The statements so far."""
        return self._lines

    @property
    def used(self) -> set[str]:
        """The names of the values that a statement is made of which another one made."""
        return names_used(self._lines)

    @property
    def length(self) -> int:
        """How many statements there are."""
        return len(self._lines)

    def beside(self) -> Builder:
        """What makes another method of the same model, of the same arguments."""
        other = Builder(self.draw, self.traits, self.missing, side_by_side=self._side_by_side)
        other.values = [value for value in self.values if value.origin != "made"]
        other.scalars, other.optionals = self.scalars, self.optionals
        other._arguments, other._specs = self._arguments, self._specs
        other._parameters, other._buffers, other._modules = self._parameters, self._buffers, self._modules
        given = {name for name, _ in self._arguments}
        other._names = {name: value for name, value in self._names.items() if name in given | {*_KNOWN, "self"}}
        other.marks = self.marks
        return other

    def method(self, result: str) -> Method:
        """The statements as the method ``forward``."""
        return Method(FORWARD, tuple(self._lines), result)

    def program(self, result: str, others: Sequence[Method] = ()) -> Program:
        """The program, without state and modules that nothing needs.

        Statements that nothing needs stay: a compiler meets dead code too, and must not lose what it writes.
        """
        methods = (self.method(result), *others)
        text = "\n".join(each for one in methods for each in (*(line.text for line in one.lines), one.result))
        text += "".join(f" self.{spec.of}" for _, spec in self._parameters if spec.of)
        parts = (self._parameters, self._buffers, self._modules)
        parameters, buffers, modules = (tuple(each for each in kept if f"self.{each[0]}" in text) for kept in parts)
        return Program(
            tuple(self._arguments),
            tuple(self._lines),
            result,
            parameters,  # type: ignore[arg-type]
            buffers,  # type: ignore[arg-type]
            modules,  # type: ignore[arg-type]
            tuple(sorted(self.marks)),
            tuple(others),
        )


class _State:
    """What stands for the model on the meta device."""

    training = False


def _meta(spec: TensorSpec) -> torch.Tensor:
    dtype = getattr(torch, spec.dtype)
    shape = spec.shape
    match spec.layout:
        case "transposed" if len(shape) >= 2:
            swapped = (*shape[:-2], shape[-1], shape[-2])
            return torch.empty(swapped, dtype=dtype, device="meta").transpose(-1, -2)
        case "swapped" if len(shape) >= 3:
            dimensions = exchanged(len(shape))
            lying = torch.empty(shape, dtype=dtype, device="meta").transpose(*dimensions).contiguous()
            return lying.transpose(*dimensions)
        case "stepped" if shape:
            return torch.empty((*shape[:-1], shape[-1] * 2), dtype=dtype, device="meta")[..., ::2]
        case "expanded" if shape and shape[0] > 1:
            return torch.empty((1, *shape[1:]), dtype=dtype, device="meta").expand(shape)
        case "channels_last" if len(shape) == 4:
            return torch.empty(shape, dtype=dtype, device="meta", memory_format=torch.channels_last)
        case "conj_view":
            return conj_view(torch.empty(shape, dtype=dtype, device="meta"))
    return torch.empty(shape, dtype=dtype, device="meta")


def elements(shape: Iterable[int]) -> int:
    """How many elements a tensor of that shape has."""
    return math.prod(shape)
