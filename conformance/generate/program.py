"""Programs as plain data: what is drawn, shrunk, kept, and shown as a model; steps.py has what happens to them.

Everything here is frozen; :mod:`conformance.generate.serialization` writes and reads it. Imports no torch.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from conformance.generate.dead_code import needed

#: What a dtype that is written in a program becomes where the program is computed in 64 bits.
_WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}
_FLOATING = ("float32", "float64", "float16", "bfloat16", "complex64")
_DTYPE_NAME = re.compile(r"\btorch\.(float32|float16|bfloat16|complex64)\b")
#: How a method of a tensor that names a dtype is written with more bits.
_CAST = re.compile(r"\.(float|half|bfloat16)\(\)")
#: A number after an arithmetic operator, at the end of a line or before a parenthesis that closes.
_NUMBER = re.compile(r"(?:(?<= [-+*/%<>] )|(?<= \*\* )|(?<= // ))(?P<number>-?\d[\d.]*(?:e-?\d+)?)(?=$|\n|\))")
#: A number in a list that a tensor is made of.
_IN_A_LIST = re.compile(r"(?:(?<=torch\.tensor\(\[)|(?<=\d, ))(?P<number>-?\d+\.\d+)(?=(?:, -?\d+\.\d+)*\]\))")
#: A function that another one of the same arguments can stand for.
_FUNCTION = re.compile(r"(?:(?<=\.)(?:tanh|sigmoid|amax|amin)|(?<=\bF\.)(?:relu|silu))(?=\()")
_OTHER_FUNCTION = {"tanh": "sigmoid", "sigmoid": "tanh", "amax": "amin", "amin": "amax", "relu": "silu", "silu": "relu"}
_INDENT = "    "
#: A class of submodules of a model's own: what tells two of them apart are numbers among their attributes.
OWN_CLASS = """class Scaled(torch.nn.Module):
    def __init__(self, factor: float, shift: int):
        super().__init__()
        self.factor = factor
        self.shift = shift

    def forward(self, x):
        return x * self.factor + self.shift
"""
_OWN_NUMBERS = re.compile(r"\bScaled\((?P<factor>-?[\d.]+), (?P<shift>-?\d+)\)")


@dataclasses.dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor along the axes of inputs: everything that :func:`conformance.generate.inputs.make` has to know."""

    dtype: str
    shape: tuple[int, ...]
    layout: str = "contiguous"
    values: str = "ordinary"
    seed: int = 0
    #: Whether it is a leaf that requires grad, where the call is made with gradients.
    grad: bool = False
    #: The name of a parameter that a parameter is, seen from the other side: its own elements are none.
    of: str = ""

    def __str__(self) -> str:
        parts = [f"{self.dtype}{list(self.shape)}"]
        parts += [each for each, plain in ((self.layout, "contiguous"), (self.values, "ordinary")) if each != plain]
        return " ".join(parts + ["requires grad"] * self.grad)


@dataclasses.dataclass(frozen=True, slots=True)
class Scalar:
    """A Python number as an argument."""

    kind: str
    value: float

    def __str__(self) -> str:
        return f"{self.kind} {self.number!r}"

    @property
    def number(self) -> Any:
        """The number in its type: int, float or bool."""
        return {"int": int, "float": float, "bool": bool}[self.kind](self.value)


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """Python numbers in a list, as one argument."""

    numbers: tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.numbers))}]"

    @property
    def number(self) -> list[Any]:
        """The numbers in their types, in a list of its own."""
        return [each.number for each in self.numbers]


@dataclasses.dataclass(frozen=True, slots=True)
class Absent:
    """None as an argument, where another call may have the tensor of a spec."""

    spec: TensorSpec

    def __str__(self) -> str:
        return "None"

    @property
    def number(self) -> None:
        """What is given."""
        return None


#: How a program annotates an argument that may be None.
OPTIONAL = "torch.Tensor | None"

Argument = TensorSpec | Scalar | Listed | Absent


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A statement of a program: its source, which may have several lines, and the operator that it is about."""

    operator: str
    text: str


#: The method that a call calls if it says nothing else.
FORWARD = "forward"
#: The name of a second method: sorted, it comes first, and who sorts methods must not take one for the other.
SECOND = "encode"


@dataclasses.dataclass(frozen=True, slots=True)
class Method:
    """A method of a model: its name, its statements, what it returns, and the decorator above it, if it has one."""

    name: str
    lines: tuple[Line, ...]
    result: str
    decorator: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """A model: its state, its submodules, the statements of ``forward``, and what it returns.

    ``arguments`` are the parameters of ``forward`` with the Python type of each ("Tensor", "int", "float", "bool",
    "list[int]", "list[float]", or :data:`OPTIONAL`);
    ``parameters`` and ``buffers`` have names and specs, ``modules`` names and constructors; ``result`` is an
    expression.
    """

    arguments: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    result: str
    parameters: tuple[tuple[str, TensorSpec], ...] = ()
    buffers: tuple[tuple[str, TensorSpec], ...] = ()
    modules: tuple[tuple[str, str], ...] = ()
    #: What it has of what is compared otherwise: "random", "writes" (to what it did not make itself), "branch".
    marks: tuple[str, ...] = ()
    #: Methods beside ``forward``, of the same arguments and state.
    others: tuple[Method, ...] = ()

    @property
    def all_methods(self) -> tuple[Method, ...]:
        """``forward``, and the methods beside it."""
        return (Method(FORWARD, self.lines, self.result), *self.others)

    @property
    def operators(self) -> list[str]:
        """The operators of its statements, in order."""
        return [line.operator for method in self.all_methods for line in method.lines]

    def state(self) -> dict[str, TensorSpec]:
        """The parameters and buffers that a model is made with, by their names."""
        return {name: spec for name, spec in (*self.parameters, *self.buffers) if not spec.of}

    def source(self, *, wide: bool = False) -> str:
        """The class ``Model`` as a file of Python has it, which begins with its imports.

        With ``wide`` every floating-point dtype that the text names is float64, and every complex one complex128.
        """
        state = list(self.state())
        begin = [f"self.{name} = torch.nn.Parameter({_given(name, spec)})" for name, spec in self.parameters]
        begin += [f'self.register_buffer("{name}", {name})' for name, _ in self.buffers]
        begin += [f"self.{name} = {constructor}" for name, constructor in self.modules]
        signature = ", ".join(name if kind == "Tensor" else f"{name}: {kind}" for name, kind in self.arguments)
        header = f"({', '.join(filter(None, ['self', signature]))})"
        methods: list[str] = []
        for method in self.all_methods:
            body = [each for line in method.lines for each in line.text.splitlines()]
            methods += [f"{_INDENT}{method.decorator}"] if method.decorator else []
            methods += _method(method.name + header, [*body, f"return {method.result}"])
        text = "\n".join(
            [
                "import torch",
                "import torch.nn.functional as F",
                "",
                "",
                *([OWN_CLASS, ""] if any(map(_OWN_NUMBERS.search, begin)) else []),
                "class Model(torch.nn.Module):",
                *_method(f"__init__({', '.join(['self', *state])})", ["super().__init__()", *begin] if begin else []),
                *methods,
            ]
        )
        return widened(text) if wide else text + "\n"

    def without_dead_code(self, *, modules_write: bool = True) -> Program:
        """Without statements that make a value which nothing needs. What writes to something stays, and what calls a
        submodule where these write to their state."""
        left = functools.partial(needed, modules_write=modules_write)
        others = tuple(dataclasses.replace(each, lines=left(each.lines, each.result)) for each in self.others)
        return dataclasses.replace(self, lines=left(self.lines, self.result), others=others)

    def numbers(self) -> list[tuple[int, int, int]]:
        """Where Python numbers stand beside an arithmetic operator, or in a list that a tensor is made of: the line,
        and where in its text they begin and end."""
        return [
            (place, *found.span("number"))
            for place, line in enumerate(self.lines)
            for pattern in (_NUMBER, _IN_A_LIST)
            for found in pattern.finditer(line.text)
        ]

    def with_number(self, place: tuple[int, int, int], number: str) -> Program:
        """The same with another number in one of these places."""
        index, begin, end = place
        text = self.lines[index].text
        return self._with_line(index, text=text[:begin] + number + text[end:])

    def functions(self) -> list[tuple[int, int, int]]:
        """Where functions are named that another one can stand for: the line, and where in its text they begin and
        end."""
        return [
            (place, *found.span()) for place, line in enumerate(self.lines) for found in _FUNCTION.finditer(line.text)
        ]

    def with_other_function(self, place: tuple[int, int, int]) -> Program:
        """The same with the other function in one of these places."""
        index, begin, end = place
        line = self.lines[index]
        name = line.text[begin:end]
        other = _OTHER_FUNCTION[name]
        operator = other if line.operator == name else line.operator
        return self._with_line(index, operator=operator, text=line.text[:begin] + other + line.text[end:])

    def _with_line(self, index: int, **changes: str) -> Program:
        lines = list(self.lines)
        lines[index] = dataclasses.replace(lines[index], **changes)
        return dataclasses.replace(self, lines=tuple(lines))

    def with_attribute(self, change: Callable[[str, str], tuple[str, str]]) -> Program | None:
        """The same with other attributes of the last submodule of its own class; None where it has none."""
        for place in reversed(range(len(self.modules))):
            name, constructor = self.modules[place]
            *_, last = (None, *_OWN_NUMBERS.finditer(constructor))
            if last is not None:
                factor, shift = change(last["factor"], last["shift"])
                text = f"{constructor[: last.start()]}Scaled({factor}, {shift}){constructor[last.end() :]}"
                return dataclasses.replace(
                    self, modules=(*self.modules[:place], (name, text), *self.modules[place + 1 :])
                )
        return None


def _given(name: str, spec: TensorSpec) -> str:
    """What a parameter is made with."""
    tensor = f"{spec.of}.t()" if spec.of else name
    return tensor if spec.grad and spec.dtype in _FLOATING else f"{tensor}, requires_grad=False"


def _method(header: str, body: Sequence[str]) -> list[str]:
    return [f"{_INDENT}def {header}:", *(f"{_INDENT * 2}{line}" for line in body), ""] if body else []


def widened(text: str) -> str:
    """A text of a program with every floating-point dtype in it as float64, every complex one as complex128."""
    text = _DTYPE_NAME.sub(lambda found: f"torch.{_WIDE[found[1]]}", text)
    return _CAST.sub(".double()", text) + "\n"


def wide_dtype(name: str) -> str:
    """The dtype in which one is held against exact values."""
    return _WIDE.get(name, name)
