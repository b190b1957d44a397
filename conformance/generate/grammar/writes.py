"""Statements that write in place: to what the program made, to views, to arguments and to buffers."""

from __future__ import annotations

import re

import torch

from conformance.generate.grammar.builder import MOST_PIECES, Abandoned, Builder, Value
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


def _change(b: Builder, target: Value) -> str:
    """A statement that changes a tensor in place."""
    number = b.number(target) if str(target.dtype) != "torch.bool" else "1"
    other = str(b.pick(lambda value: value.dtype == target.dtype))
    if target.floating and not {"mixed_dtypes", "float64"}.intersection(b.missing) and b.draw.chance(4):
        other += ".double()"  # what is computed in a longer dtype is brought back to that of what is written to
    if str(target.dtype) == "torch.bool":
        return f"{target}.logical_not_()"
    options = [
        f"{target}.add_({number})",
        f"{target}.mul_({b.draw.of('2', '3')})",
        f"{target}.add_({other})",
        f"{target} += {other}",
        f"{target}.copy_({other})",
        f"{target}.neg_()",
        f"{target}.clamp_(min=0)",
        f"{target}.zero_()",
        f"{target}.fill_({b.draw.of('1', '2')})",
    ]
    if target.rank:
        options += [f"{target}[0] = {b.draw.of('1', '0')}", f"{target}[..., :1] += 1", f"{target}[1:].mul_(2)"]
    return b.draw.choice(options)


def _operator(statement: str) -> str:
    if called := re.search(r"\.(\w+_)\(", statement):
        return called[1]
    return "copy_" if "] = " in statement else "add_"


@rule("writes", "in_place", "elementwise", weight=4)
def to_own(b: Builder) -> None:
    try:
        target = b.pick(lambda value: value.fresh)
    except Abandoned:
        target = b.make("clone", f"{b.pick()}.clone()")[0]
    statement = _change(b, target)
    b.write(_operator(statement), statement)


@rule("writes", "in_place", "elementwise", "views", weight=4)
def to_view_of_own(b: Builder) -> None:
    base = b.make("clone", f"{b.pick(lambda value: value.rank >= 1)}.clone()")[0]
    name, text = b.draw.of(
        ("slice", f"{base}[1:]"), ("transpose", f"{base}.transpose(0, -1)"), ("select", f"{base}[0]"),
        ("slice", f"{base}[..., ::2]"), ("unsqueeze", f"{base}.unsqueeze(0)"), ("view", f"{base}.view(-1)"),
        # views, or the tensor itself, where there is nothing to copy
        ("reshape", f"{base}.reshape(-1)"), ("flatten", f"{base}.flatten()"), ("contiguous", f"{base}.contiguous()"),
        ("to", f"{base}.to({base.dtype})"),
    )  # fmt: skip
    if not b.traits.trains and b.draw.chance(3):  # autograd lets nobody write to one of several views
        dim = b.dim(base, MOST_PIECES)
        name, text = b.draw.of(
            ("chunk", f"{base}.chunk(2, {dim})[0]"), ("split", f"{base}.split(1, {dim})[-1]"),
            ("unbind", f"{base}.unbind({dim})[0]"),
        )  # fmt: skip
    part = b.make(name, text, fresh=False)[0]
    statement = _change(b, part)
    b.write(_operator(statement), statement)


@rule("writes", "in_place", "elementwise", "views", weight=4, operators=1)
def named_before_it_is_written(b: Builder) -> None:
    """A view that was taken ahead of a write to what it is a view of has what was written."""
    (whole,) = b.make("clone", f"{b.float_value(least=1)}.clone()")
    name, part = b.draw.of(
        ("slice", f"{whole}[..., :1]"), ("slice", f"{whole}[1:]"), ("select", f"{whole}[0]"),
        ("transpose", f"{whole}.transpose(0, -1)"), ("view", f"{whole}.view(-1)"), ("unsqueeze", f"{whole}[None]"),
    )  # fmt: skip
    (seen,) = b.make(name, part, fresh=False)
    write = b.draw.of(f"{whole}[..., :1] = 2", f"{whole}[0] = 2", f"{whole}.mul_(2)", f"{whole}[..., -1:] += 1")
    b.write(_operator(write), write)
    b.make("mul", f"{seen} * 3.0")


@rule("writes", "in_place", "elementwise", "input_mutation", traits=("keeps_writes",), weight=4)
def to_argument(b: Builder) -> None:
    target = b.pick(lambda value: value.origin == "argument")
    if b.draw.chance(3) and target.rank:
        target = b.make("slice", f"{target}[1:]", fresh=False)[0]
    statement = _change(b, target)
    b.write(_operator(statement), statement, "writes")


@rule("writes", "in_place", "elementwise", "input_mutation", traits=("keeps_writes",), weight=3, operators=1)
def to_one_of_two(b: Builder) -> None:
    """Two arguments of a kind may share memory: then who writes to one changes what the other one gives."""
    written = b.pick(lambda value: value.origin == "argument" and value.dtype != torch.bool)
    kind = (written.shape, written.dtype)
    alike = [v for v in b.values if v.origin == "argument" and (v.shape, v.dtype) == kind and v.name != written.name]
    if not alike:
        raise Abandoned
    other = b.draw.choice(alike)
    statement = _change(b, written)
    b.write(_operator(statement), statement, "writes")
    b.make("mul", f"{other} * 2")


def _kept_like(b: Builder, one: Value) -> Value:
    """A buffer for values like this one. It begins with zeros where the toolchain may forget with what it begins."""
    values = "ordinary" if b.traits.keeps_writes else "zeros"
    return b.buffer(TensorSpec(one.dtype_name, one.shape, "contiguous", values, b.draw.seed()))


@rule("writes", "in_place", "elementwise", "input_mutation", "mutable_state", traits=("keeps_state",), weight=3)
def to_buffer(b: Builder) -> None:
    known = [value for value in b.values if value.origin == "state" and value.name.startswith("self.b")]
    buffers = known if b.traits.keeps_writes else []
    target = b.draw.choice(buffers or [_kept_like(b, b.float_value())])
    statement = _change(b, target)
    b.write(_operator(statement), statement, "writes")
    if not b.traits.keeps_writes:  # nobody sees it but the model
        b.make("add", f"{target} + 1")


@rule(
    "writes", "in_place", "elementwise", "input_mutation", "mutable_state",
    traits=("keeps_state",), weight=3, operators=1,
)  # fmt: skip
def kept_before_it_changes(b: Builder) -> None:
    """A buffer keeps what a value was before the model changes that, or the caller does, as recurrent models keep their
    last state."""
    source = b.pick(lambda value: value.origin == "argument" or value.fresh)
    kept = _kept_like(b, source)
    by_the_caller = source.origin == "argument" and (not b.traits.keeps_writes or b.draw.chance(2))
    if by_the_caller:
        b.make("add", f"{kept} + {source}")
    copied = b.draw.of(
        f"{kept}.copy_({source})", f"{kept}[...] = {source}" if source.rank else f"{kept}.copy_({source})"
    )
    b.write("copy_", copied, "writes")
    if not by_the_caller:
        statement = _change(b, source)
        b.write(_operator(statement), statement, "writes")
    if b.draw.chance(2):
        b.make("add", f"{kept} + {source}")


@rule(
    "writes", "in_place", "elementwise", "input_mutation", "mutable_state",
    traits=("keeps_state",), weight=3, operators=1,
)  # fmt: skip
def moved_up(b: Builder) -> None:
    """Each buffer takes over what the one ahead of it held, and the first what comes, as models keep their last few
    inputs."""
    one = b.pick(lambda value: value.origin == "argument")
    newer, older = (_kept_like(b, one) for _ in "ab")
    if b.draw.chance(2):
        b.make("add", f"{newer} + {one}")
    b.write("copy_", f"{older}.copy_({newer})", "writes")
    b.write("copy_", f"{newer}.copy_({one})", "writes")
    b.make("add", f"{older} + {newer}")


@rule("writes", "in_place", "elementwise", weight=5, operators=1)
def computed_before_it_changes(b: Builder) -> None:
    """What was computed of a value stays what it was when that value changes, and is computed with only then."""
    given = b.traits.keeps_writes and "input_mutation" not in b.missing and b.draw.chance(2)
    if given:
        target = b.pick(lambda value: value.floating and value.origin == "argument")
    else:
        target = b.make("clone", f"{b.float_value()}.clone()")[0]
    name, text = b.draw.of(
        ("mul", f"{target} * 2.0"), ("add", f"{target} + 1.0"), ("sigmoid", f"torch.sigmoid({target})")
    )
    (made,) = b.make(name, text)
    statement = _change(b, target)
    b.write(_operator(statement), statement, *["writes"] * given)
    b.make(*b.draw.of(("add", f"{made} + 1.0"), ("relu", f"torch.relu({made})"), ("mul", f"{made} * {target}")))


@rule("writes", "in_place", "elementwise", "parameters", "views", weight=3, operators=1)
def made_of_a_weight_and_changed(b: Builder) -> None:
    """What is computed of weights alone could be computed once, were it not written to in each call."""
    one = b.float_value(least=1)
    weight = b.parameter(TensorSpec(one.dtype_name, one.shape[-1:], "contiguous", "ordinary", b.draw.seed(), grad=True))
    (scaled,) = b.make("mul", f"{weight} * 2.0")
    b.write("add_", b.draw.of(f"{scaled}[:1].add_(1)", f"{scaled}.add_(1)", f"{scaled}[..., -1:] += 2"))
    b.make("mul", f"{one} * {scaled}")


@rule("writes", "in_place", "elementwise", weight=3, operators=1)
def two_alike_that_are_written(b: Builder) -> None:
    """Two of one expression are two tensors, as a total and a count that begin alike."""
    one = b.float_value()
    name, text = b.draw.of(
        ("zeros_like", f"torch.zeros_like({one})"), ("full_like", f"torch.full_like({one}, 0.5)"),
        ("mul", f"{one} * 2.0"), ("clone", f"{one}.clone()"),
    )  # fmt: skip
    first, second = (b.make(name, text)[0] for _ in "ab")
    b.write("add_", f"{first}.add_({one})")
    if b.draw.chance(2):
        b.write("sub_", f"{second}.sub_(1.0)")
    b.make("add", f"{first} + {second} * 3.0")


@rule("writes", "in_place", "elementwise", weight=2)
def functional_in_place(b: Builder) -> None:
    one = b.make("clone", f"{b.float_value()}.clone()")[0]
    if b.draw.chance(3):
        b.write("relu_", b.draw.of(f"F.relu({one}, True)", f"F.leaky_relu({one}, 0.1, True)"))
        b.make("add", f"{one} + 1")
        return
    name, text = b.draw.of(
        ("relu_", f"F.relu({one}, inplace=True)"), ("hardtanh_", f"F.hardtanh({one}, inplace=True)"),
        ("exp_", f"{one}.exp_()"), ("sigmoid_", f"torch.sigmoid_({one})"),
        ("masked_fill_", f"{one}.masked_fill_({one} > 0, 1)"),
    )  # fmt: skip
    b.make(name, text, fresh=False)


@rule("writes", "in_place", "elementwise", weight=3, operators=6)
def around_an_activation(b: Builder) -> None:
    """A path around an activation that writes to what it is given: computed before it, and used after."""
    entered = b.make("mul", f"{b.float_value()} * {b.draw.of('2.0', '-1.5')}")[0]
    around = b.make("mul", b.draw.of(f"{entered} * 0.5", f"torch.tanh({entered})", f"{entered} + 1.0"))[0]
    activation = b.draw.of("relu", "relu", "relu6", "silu", "leaky_relu", "hardtanh", "elu")
    (activated,) = b.make(f"{activation}_", f"F.{activation}({entered}, inplace=True)", fresh=False)
    b.make("add", b.draw.of(f"{activated} + {around}", f"torch.sigmoid({activated}) * {around}"))
