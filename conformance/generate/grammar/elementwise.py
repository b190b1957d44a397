"""Statements that compute element by element."""

from __future__ import annotations

from conformance.generate.grammar.builder import Builder, Value
from conformance.generate.grammar.rules import rule

_FLOAT_FUNCTIONS = (
    "exp", "sigmoid", "tanh", "sin", "cos", "sqrt", "rsqrt", "log", "log1p", "expm1", "erf", "reciprocal", "atan",
    "floor", "ceil", "round", "trunc", "frac", "sinh", "cosh", "asinh", "log2", "log10", "exp2", "erfc", "tan",
    "acos", "asin", "acosh", "atanh", "lgamma", "sinc", "logit", "deg2rad",
)  # fmt: skip
_ANY_FUNCTIONS = ("abs", "neg", "sign", "square", "positive")
_ACTIVATIONS = (
    "relu", "gelu", "silu", "softplus", "leaky_relu", "elu", "hardtanh", "hardswish", "hardsigmoid", "mish", "selu",
    "relu6", "logsigmoid", "tanhshrink", "softsign", "celu", "softshrink", "hardshrink",
)  # fmt: skip
#: Those that most models have, and which compilers fuse, replace and compute in place: half of all.
_COMMON_FUNCTIONS = ("sigmoid", "tanh", "exp", "rsqrt")
_COMMON_ACTIVATIONS = ("relu", "gelu", "silu")
#: Activations with options of their own, whose defaults a compiler may take for granted.
_WITH_OPTIONS = (
    "leaky_relu({}, 0.2)", "elu({}, 0.5)", "softplus({}, 2.0, 1.0)", "hardtanh({}, -0.5, 2.0)", "celu({}, 0.5)",
    "hardshrink({}, 0.25)", "softshrink({}, 0.25)", "threshold({}, 0.5, -1.0)", "glu({}, -1)",
)  # fmt: skip
_FUNCTIONS_OF_TWO = (
    "maximum", "minimum", "fmod", "atan2", "hypot", "fmax", "fmin", "copysign", "logaddexp", "mul", "xlogy",
    "float_power", "heaviside", "rsub",
)  # fmt: skip
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def _number(value: Value) -> bool:
    return value.dtype.__str__() != "torch.bool"


def _divisor(b: Builder, value: Value) -> str:
    """What to divide by: now and then as it is, for whole numbers by none that is 0, which would be refused."""
    return f"({value} * 2 + 1)" if value.integral and not b.draw.chance(4) else str(value)


@rule("elementwise", weight=3)
def add_or_subtract(b: Builder) -> None:
    one, other = b.pick(), b.pick()
    symbol = b.draw.of("+", "-")
    b.make({"+": "add", "-": "sub"}[symbol], f"{one} {symbol} {other}")


@rule("elementwise", "elementwise", weight=4, operators=19)
def binary(b: Builder) -> None:
    one, other = b.pick(_number), b.pick()
    if b.draw.chance(2):
        symbol, name = b.draw.of(("*", "mul"), ("/", "div"), ("**", "pow"), ("//", "floor_divide"), ("%", "remainder"))
        b.make(name, f"{one} {symbol} {_divisor(b, other) if symbol in ('//', '%') else other}")
    else:
        name = b.draw.choice(_FUNCTIONS_OF_TWO)
        b.make(name, f"torch.{name}({one}, {other})")


@rule("elementwise", "elementwise", weight=3, operators=7)
def with_number(b: Builder) -> None:
    one = b.pick(_number)
    number = b.number(one)
    symbol, name = b.draw.of(
        ("*", "mul"),
        ("+", "add"),
        ("-", "sub"),
        ("/", "div"),
        ("**", "pow"),
        ("**", "pow"),
        ("//", "floor_divide"),
        ("%", "remainder"),
    )
    if symbol in ("/", "//", "%") and number == "0":
        number = "2"
    if symbol == "**":
        number = b.draw.of("2", "3", "3", "-1", "0.5", "1", "-2") if one.floating else b.draw.of("2", "3", "0")
    reverse = symbol in ("+", "-", "*", "/", "**") and b.draw.chance(4)
    b.make(name, f"{number} {symbol} {one}" if reverse else f"{one} {symbol} {number}")


@rule("elementwise", "elementwise", "broadcasting", weight=2, operators=2)
def with_a_list(b: Builder) -> None:
    """Numbers for the columns, which a model has as a list, as those of the channels of a picture."""
    one = b.pick(lambda value: value.dtype_name == "float32" and value.rank >= 1 and 0 < value.shape[-1] <= 5)
    numbers = ", ".join(b.draw.of("0.5", "1.5", "-2.0", "0.25") for _ in range(one.shape[-1]))
    name, symbol = b.draw.of(("sub", "-"), ("mul", "*"), ("add", "+"), ("div", "/"))
    b.make(name, f"{one} {symbol} torch.tensor([{numbers}])", like=f"{one} {symbol} {one}")


@rule("elementwise", "elementwise")
def scaled(b: Builder) -> None:
    one, other = b.pick(_number), b.pick(_number)
    name = b.draw.of("add", "sub")
    b.make(name, f"torch.{name}({one}, {other}, alpha={b.draw.of('2', '3', '-1')})")


@rule("elementwise", "elementwise", weight=6, operators=len(_FLOAT_FUNCTIONS) + len(_ANY_FUNCTIONS))
def unary(b: Builder) -> None:
    if b.draw.chance(3):
        one = b.pick(_number)
        name = b.draw.choice(_ANY_FUNCTIONS)
    else:
        one = b.pick(lambda value: value.floating or value.integral)
        name = b.draw.choice(_FLOAT_FUNCTIONS if b.draw.chance(2) else _COMMON_FUNCTIONS)
    b.make(name, f"torch.{name}({one})")


@rule("elementwise", "elementwise", weight=3, operators=len(_ACTIVATIONS))
def activation(b: Builder) -> None:
    one = b.float_value()
    if b.draw.chance(4):
        called = b.draw.choice(_WITH_OPTIONS)
        b.make(called.partition("(")[0], f"F.{called.format(one)}")
        return
    name = b.draw.choice(_ACTIVATIONS if b.draw.chance(2) else _COMMON_ACTIVATIONS)
    extra = ", approximate='tanh'" if name == "gelu" and b.draw.chance(2) else ""
    b.make(name, f"F.{name}({one}{extra})")


@rule("elementwise", "elementwise", "booleans", weight=2, operators=len(_COMPARISONS))
def comparison(b: Builder) -> None:
    one = b.pick(lambda value: not value.dtype.is_complex)
    other = str(b.pick(lambda value: not value.dtype.is_complex)) if b.draw.chance(2) else b.number(one)
    if one.integral and "mixed_dtypes" not in b.missing and b.draw.chance(3):
        other = b.draw.of("2.5", "-0.5", "4294967296.5")  # between two whole numbers, or beyond them
    symbol = b.draw.choice(_COMPARISONS)
    names = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
    b.make(names[symbol], f"{one} {symbol} {other}")


@rule("elementwise", "elementwise", "booleans", "non_finite", weight=2, operators=1)
def turned_around(b: Builder) -> None:
    """Not less is not greater or equal, where a number may be none."""
    one = b.float_value()
    if b.draw.chance(2):
        one = b.make("sqrt", f"torch.sqrt({one})")[0]  # of what is negative: no number
    test = f"({one} {b.draw.choice(_COMPARISONS)} {b.draw.of('0', '1', '0.5', str(b.pick(_number)))})"
    test = b.draw.of(f"~{test}", f"torch.logical_not{test}", f"{test}.logical_not()")
    if b.draw.chance(2):
        b.make("bitwise_not", test)
    else:
        b.make("where", f"torch.where({test}, {one}, {b.draw.of('2.0', '-1.0')})")


@rule("elementwise", "elementwise", "booleans", operators=5)
def float_test(b: Builder) -> None:
    name = b.draw.of("isnan", "isinf", "isfinite", "signbit", "logical_not")
    b.make(name, f"torch.{name}({b.pick(lambda value: not value.dtype.is_complex)})")


@rule("elementwise", "elementwise", "booleans", operators=3)
def logical(b: Builder) -> None:
    one, other = b.pick(), b.pick()
    name = b.draw.of("logical_and", "logical_or", "logical_xor")
    b.make(name, f"torch.{name}({one}, {other})")


@rule("elementwise", "elementwise", "integers", operators=6)
def bitwise(b: Builder) -> None:
    one = b.pick(lambda value: not value.floating and not value.dtype.is_complex)
    other = b.pick(lambda value: not value.floating and not value.dtype.is_complex)
    symbol, name = b.draw.of(("&", "bitwise_and"), ("|", "bitwise_or"), ("^", "bitwise_xor"))
    if b.draw.chance(4):
        b.make("bitwise_not", f"~{one}")
        return
    b.make(name, f"{one} {symbol} {b.draw.of('3', '1') if one.integral and b.draw.chance(4) else other}")


@rule("elementwise", "elementwise", "integers", weight=2, operators=2)
def shift(b: Builder) -> None:
    """The sign of what is shifted to the right fills it up."""
    one = b.pick(lambda value: value.integral)
    symbol, name = b.draw.of(("<<", "bitwise_left_shift"), (">>", "bitwise_right_shift"), (">>", "bitwise_right_shift"))
    b.make(name, f"{one} {symbol} {b.draw.of('1', '3', '4')}")


@rule("elementwise", "elementwise", "booleans", weight=2)
def choose(b: Builder) -> None:
    one, other = b.pick(lambda value: not value.dtype.is_complex), b.pick()
    test = f"{one} > {b.number(one)}"
    if one.dtype.__str__() == "torch.bool":
        test = str(one)
    second = str(b.pick()) if b.draw.chance(2) else "0.0" if other.floating else str(b.pick())
    b.make("where", f"torch.where({test}, {other}, {second})")


@rule("elementwise", "elementwise", weight=2)
def clamp(b: Builder) -> None:
    one = b.pick(lambda value: value.floating or value.integral)
    bounds = (
        b.draw.of("min=0", "max=1", "-1, 1", "min=-2, max=2", "2, -2")
        if one.integral
        else b.draw.of("min=0.0", "max=0.5", "-1.0, 1.0", "min=-0.25, max=3.5", "1.0, -1.0")
    )
    if b.draw.chance(3):
        bounds = f"min={b.pick(lambda value: value.dtype == one.dtype)}"
    b.make("clamp", f"torch.clamp({one}, {bounds})")


@rule("elementwise", "elementwise", operators=3)
def three(b: Builder) -> None:
    one, two, other = b.float_value(), b.float_value(), b.float_value()
    name, text = b.draw.of(
        ("addcmul", f"torch.addcmul({one}, {two}, {other}, value=0.5)"),
        ("lerp", f"torch.lerp({one}, {two}, 0.25)"),
        ("lerp", f"torch.lerp({one}, {two}, {other})"),
        ("addcdiv", f"torch.addcdiv({one}, {two}, {other}.abs() + 1.0)"),
    )
    b.make(name, text)


@rule("elementwise", "elementwise")
def rounding(b: Builder) -> None:
    one, other = b.pick(_number), b.pick(_number)
    mode = b.draw.of("floor", "trunc")
    b.make("div", f"torch.div({one}, {_divisor(b, other)}, rounding_mode='{mode}')")


@rule("elementwise", "elementwise", weight=2, operators=1)
def kept_from_zero(b: Builder) -> None:
    """A small number beside what may be zero, as models write it; one that is lost makes infinity of it."""
    one, other = b.float_value(), b.float_value()
    least = b.draw.of("1e-6", "1e-8", "1e-12", "1e-5")
    name, text = b.draw.of(
        ("div", f"{one} / ({other}.abs() + {least})"),
        ("log", f"torch.log({one}.abs() + {least})"),
        ("rsqrt", f"torch.rsqrt({one} * {one} + {least})"),
        ("clamp", f"{one} / torch.clamp({other}.abs(), min={least})"),
    )
    b.make(name, text)


@rule("elementwise", "elementwise", "non_finite")
def replace_special(b: Builder) -> None:
    one = b.float_value()
    b.make("nan_to_num", f"torch.nan_to_num({one}, nan=1.0, posinf=2.0, neginf=-2.0)")


@rule("elementwise", "complex_numbers", operators=6)
def complex_part(b: Builder) -> None:
    one = b.pick(lambda value: value.dtype.is_complex)
    name, text = b.draw.of(
        ("real", f"{one}.real"), ("imag", f"{one}.imag"), ("abs", f"{one}.abs()"), ("conj", f"{one}.conj() * 2"),
        ("angle", f"{one}.angle()"), ("view_as_real", f"torch.view_as_real({one})"),
    )  # fmt: skip
    b.make(name, text)


@rule("elementwise", "elementwise", weight=3, operators=1)
def formula(b: Builder) -> None:
    """Sums, differences and quotients of one another: which of them comes first is all that tells them apart."""
    one = b.float_value()

    def joined(depth: int) -> str:
        if not depth:
            same = b.pick(lambda value: value.dtype == one.dtype and value.shape == one.shape)
            return b.number(one) if b.draw.chance(4) else str(same)
        left, right = joined(b.draw.of(0, depth - 1)), joined(depth - 1)
        return f"({left} {b.draw.of('-', '-', '+', '*', '/')} {right})"

    b.make("sub", f"{one} - {joined(b.draw.of(1, 2, 2, 3))}")


@rule("elementwise", "elementwise", weight=4, operators=2)
def bounds_that_cross(b: Builder) -> None:
    """Two bounds, one after the other: where the lower one lies above, the later one holds."""
    one = b.pick(lambda value: value.floating or value.integral)
    other = b.pick(lambda value: value.dtype == one.dtype)
    name, text = b.draw.of(
        ("clamp", f"torch.minimum({one}, {other} - 1).clamp(min=0)"),
        ("clamp", f"torch.maximum({one}, {other}).clamp(max=0)"),
        ("clamp", f"torch.clamp({one}, max={other}).clamp(min=1)"),
        ("minimum", f"torch.minimum(torch.maximum({one}, {other}), {other} - 1)"),
    )
    b.make(name, text)


@rule("elementwise", "elementwise", "non_finite", weight=3, operators=1)
def by_a_law_of_some_numbers(b: Builder) -> None:
    """What algebra makes simpler, by laws that hold for positive numbers alone, or for those that are neither zero nor
    infinite."""
    one = b.draw.of("{}", "torch.relu({})").format(b.float_value())
    b.make(*b.draw.of(
        ("div", f"{one} / {one}"), ("sub", f"{one} - {one}"), ("mul", f"{one} * 0.0"),
        ("sqrt", f"torch.sqrt({one} ** 2)"),
        ("pow", f"({one} ** 4) ** 0.25"), ("pow", f"torch.sqrt({one}) ** 2"), ("log", f"torch.exp(torch.log({one}))"),
        ("clamp", f"{one}.clamp(-1.0, 0.5).clamp(min=0.75)"), ("clamp", f"{one}.clamp(max=-0.5).clamp(-0.25, 2.0)"),
        ("mul", f"{one}.abs() * torch.sign({one})"), ("div", f"1.0 / (1.0 / {one})"), ("neg", f"-torch.relu(-{one})"),
        ("sub", f"2.0 - (2.0 - {one})"), ("abs", f"torch.abs({one} ** 3)"),
    ))  # fmt: skip
