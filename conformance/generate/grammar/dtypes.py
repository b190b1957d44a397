"""Statements about dtypes: casts, mixtures, promotion."""

from __future__ import annotations

import torch

from conformance.generate.grammar.builder import Builder
from conformance.generate.grammar.rules import rule

#: A dtype, and the feature that it needs.
_DTYPES = (
    ("float32", ""), ("float64", "float64"), ("float16", "half_precision"), ("bfloat16", "half_precision"),
    ("int64", "integers"), ("int32", "integers"), ("uint8", "integers"), ("int8", "integers"), ("bool", "booleans"),
)  # fmt: skip


@rule("dtypes", "mixed_dtypes", weight=4)
def cast(b: Builder) -> None:
    one = b.pick(lambda value: not value.dtype.is_complex)
    names = [name for name, needed in _DTYPES if needed not in b.missing or not needed]
    dtype = b.draw.choice(names)
    if dtype in ("uint8", "int8", "int32") and one.floating:
        # what a float beyond an integer's range becomes is left open by PyTorch
        one = b.make("clamp", f"torch.nan_to_num({one}.clamp(0, 100))")[0]
    elif dtype == "int64" and one.floating:
        one = b.make("clamp", f"torch.nan_to_num({one}.clamp(-1000, 1000))")[0]
    b.make("to", f"{one}.to(torch.{dtype})", fresh=False)


@rule("dtypes", "mixed_dtypes", weight=2)
def casts_in_a_row(b: Builder) -> None:
    """The first of two casts loses what the second does not bring back."""
    one = b.pick(lambda value: not value.dtype.is_complex)
    names = [name for name, needed in _DTYPES if needed not in b.missing or not needed]
    first, second = b.draw.choice(names), b.draw.of("float32", *names)
    if one.floating and (first, second) != ("bool", "bool"):
        # within the range of every dtype; fractions stay
        one = b.make("clamp", f"torch.nan_to_num({one}.clamp(0, 100))")[0]
    elif first not in ("bool", "int64") or second not in ("bool", "int64"):
        one = b.make("clamp", f"{one}.to(torch.int64).clamp(0, 100)")[0]
    b.make("to", f"{one}.to(torch.{first}).to(torch.{second})", fresh=False)


@rule("dtypes", "mixed_dtypes", weight=3)
def mixed(b: Builder) -> None:
    one = b.pick()
    other = b.pick(lambda value: value.dtype != one.dtype)
    symbol, name = b.draw.of(("+", "add"), ("*", "mul"), ("-", "sub"), ("/", "div"))
    b.make(name, f"{one} {symbol} {other}")


@rule("dtypes", "mixed_dtypes", "zero_dim", weight=2)
def beside_zero_dim(b: Builder) -> None:
    one = b.pick()
    dtype = b.draw.of("float32", "float64", "int64") if "float64" not in b.missing else "float32"
    b.make("mul", f"{one} * torch.tensor(2, dtype=torch.{dtype})")


@rule("dtypes", "mixed_dtypes")
def as_other(b: Builder) -> None:
    one, other = (
        b.pick(lambda value: not value.dtype.is_complex and not value.floating),
        b.pick(lambda value: not value.dtype.is_complex),
    )
    b.make("type_as", f"{one}.type_as({other})", fresh=False)


@rule("dtypes", "integers")
def whole(b: Builder) -> None:
    one, other = b.pick(lambda value: value.integral), b.pick(lambda value: value.integral)
    name, text = b.draw.of(
        ("floor_divide", f"torch.floor_divide({one}, {other}.abs() + 1)"),
        ("remainder", f"{one} % ({other}.abs() + 1)"),
        ("div", f"{one} / ({other}.abs() + 1)"),
        ("sum", f"{one}.sum()"),
        ("mul", f"{one} * {other}"),
        ("pow", f"{one} ** 2"),
        ("fmod", f"torch.fmod({one}, {other}.abs() + 1)"),
    )
    b.make(name, text)


@rule("dtypes", "integers", weight=2, operators=4)
def by_a_whole_number(b: Builder) -> None:
    """What compilers make shifts and masks of, where it is a power of two: of numbers below zero, too."""
    one = b.pick(lambda value: value.integral)
    number = b.draw.of(2, 4, 8, 3, 10, 1)
    name, text = b.draw.of(
        ("div", f"torch.div({one}, {number}, rounding_mode='{b.draw.of('trunc', 'floor')}')"),
        ("fmod", f"torch.fmod({one}, {number})"),
        ("remainder", f"{one} % {number}"),
        ("floor_divide", f"{one} // {number}"),
        ("mul", f"{one} * {number} - {number}"),
        ("__rshift__", f"{one} >> {b.draw.of(1, 2)}"),
        ("__lshift__", f"{one} << {b.draw.of(1, 2)}"),
        ("bitwise_and", f"{one} & {number}"),
    )
    b.make(name, text)


@rule("dtypes", "integers", "elementwise", weight=2, operators=3)
def beyond_32_bits(b: Builder) -> None:
    """Hashes, crossed identifiers and time stamps: 64 bits hold them, and 32 do not; and what is made of them."""
    one = b.pick(lambda value: value.integral if "mixed_dtypes" not in b.missing else value.dtype == torch.int64)
    wide = str(one) if one.dtype == torch.int64 else f"{one}.to(torch.int64)"
    name, text = b.draw.of(
        ("mul", f"({wide} * 31 + 7) * 1000000007"),
        ("mul", f"{wide} * 100003 * 100019"),
        ("add", f"{wide} * 86400000 + 1700000000000"),
        ("add", f"({wide} << 33) + {wide}"),
        ("bitwise_xor", f"{wide} ^ ({wide} << 37)"),
    )
    (large,) = b.make(name, text)
    name, text = b.draw.of(
        ("remainder", f"{large} % 97"),
        ("floor_divide", f"{large} // 86400000"),
        ("__rshift__", f"{large} >> 30"),
        ("sub", f"{large} - 1700000000000"),
        ("gt", f"{large} > 8589934592") if "booleans" not in b.missing else ("remainder", f"{large} % 101"),
    )
    b.make(name, text)


@rule("dtypes", "booleans")
def of_booleans(b: Builder) -> None:
    one = b.pick(lambda value: str(value.dtype) == "torch.bool")
    name, text = b.draw.of(
        ("sum", f"{one}.sum()"), ("add", f"{one} + {one}"), ("mul", f"{one} * 2.5"), ("cumsum", f"{one}.cumsum(0)"),
        ("bitwise_not", f"~{one}"), ("where", f"torch.where({one}, 1.0, -1.0)"), ("mean", f"{one}.float().mean()"),
        ("any", f"{one}.any()"), ("argmax", f"{one}.int().argmax()"),
    )  # fmt: skip
    b.make(name, text)


@rule("dtypes", "mixed_dtypes", "booleans", weight=3, operators=1)
def by_what_changes_no_value(b: Builder) -> None:
    """A number that changes no value changes the dtype: masks and indices become floating-point numbers by it."""
    given = b.pick(lambda value: not value.dtype.is_complex)
    one = f"({given} > 0.25)" if given.floating and not b.draw.chance(4) else str(given)
    name, text = b.draw.of(
        ("mul", f"{one} * 1.0"),
        ("div", f"{one} / 1"),
        ("add", f"{one} + 0.0"),
        ("pow", f"{one} ** 1.0"),
        ("mul", f"1 * {one}"),
        ("add", f"0 + {one}"),
        ("mul", f"{one} * {one}.new_ones((), dtype=torch.float32)"),
    )
    b.make(name, text)


@rule("dtypes", "mixed_dtypes", "integers", "elementwise", weight=5, operators=4)
def by_equal_numbers(b: Builder) -> None:
    """Numbers that are equal in Python, one of which makes integers and the other floating-point numbers: steps on the
    way, which are not returned, and what is made of each."""
    one = b.pick(lambda value: value.integral)
    name, operation = b.draw.of(("mul", "*"), ("sub", "-"), ("add", "+"))
    number = b.draw.of("2", "1", "3")
    steps = [f"({one} {operation} {number}) // 2", f"({one} {operation} {number}.0) // 2"]
    for text in steps if b.draw.chance(2) else reversed(steps):
        b.make(name, text)


@rule("dtypes", "mixed_dtypes", "integers", weight=3, operators=1)
def wraps_around(b: Builder) -> None:
    """Arithmetic in a narrow dtype, and then in a wide one: what was lost stays lost."""
    one = b.pick(lambda value: not value.dtype.is_complex)
    if one.floating:
        one = b.make("clamp", f"torch.nan_to_num({one}).clamp(0, 100)")[0]
    narrow = b.draw.of("uint8", "int8", "int16")
    name, text = b.draw.of(("add", "{0} + {0}"), ("mul", "{0} * 7"), ("sub", "{0} - 100"), ("neg", "-{0} + 120"))
    short = b.make("to", f"{one}.to(torch.{narrow})", fresh=False)[0]
    b.make(name, f"({text.format(short)}).to(torch.{b.draw.of('int64', 'int32', 'float32')})")


@rule("dtypes", "mixed_dtypes", "integers", "booleans", "elementwise", weight=3, operators=1)
def of_bytes(b: Builder) -> None:
    """Arithmetic of pictures, whose bytes wrap around at every step."""
    one = b.pick(lambda value: not value.dtype.is_complex)
    (first,) = b.make(
        "to", f"(torch.nan_to_num({one}.float()).clamp(-3.0, 3.0) * 75.0).abs().to(torch.uint8)", fresh=False
    )
    second = b.draw.of(f"(255 - {first})", f"{first} // 3", f"{first}.flip(0)" if one.rank else f"({first} + 7)")
    name, text = b.draw.of(
        ("abs", f"({first} - {second}).abs()"),
        ("floor_divide", f"({first} + {second}) // 2"),
        ("gt", f"({first} + 60) > {second}"),
        ("maximum", f"torch.maximum({first} + {second}, {first})"),
        ("bitwise_right_shift", f"({first} * 2) >> 1"),
        ("to", f"({first} - {second}).float() / 255.0"),
    )
    b.make(name, text)
