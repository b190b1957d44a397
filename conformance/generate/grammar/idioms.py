"""A few statements at a time for which compilers have a kernel, in forms in which that kernel would be wrong: halves in
the other order, signs and fractions of numbers, paddings, sizes that a view alone gives."""

from __future__ import annotations

from conformance.generate.grammar.builder import MOST_PIECES, Abandoned, Builder, Value
from conformance.generate.grammar.matrices import parameter
from conformance.generate.grammar.networks import image, running_statistics
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec

#: Activations that gate: the text around what is activated.
_GATES = ("torch.sigmoid({})", "F.silu({})", "F.gelu({})", "torch.relu({})", "torch.tanh({})")


@rule("networks", "elementwise", "views", weight=6, operators=1)
def gated(b: Builder) -> None:
    """Two halves, one of which gates the other: the first, or the second, or each. They are put together for it, or are
    those of what is there: of an argument, or of what is used again."""
    floats = [value for value in b.values if value.floating]
    halved = [(each, dim) for each in floats for dim, size in enumerate(each.shape) if size in (2, 4, 8, 16)]
    if halved and not b.draw.chance(3):
        both, dim = b.draw.choice(halved)
    else:
        one = b.float_value(least=1)
        dim = b.dim(one)
        (both,) = b.make("cat", f"torch.cat([{one}, {one} * 0.5 - 1.0], {dim})")
    first, second = b.make("chunk", f"{both}.chunk(2, {dim})", fresh=False, several=2)
    gate = b.draw.of(*_GATES)
    other = b.draw.of("{}", "{}", "{}", *_GATES)
    halves = (first, second) if b.draw.chance(2) else (second, first)
    factors = [text.format(half) for text, half in zip((gate, other), halves, strict=True)]
    (product,) = b.make("mul", " * ".join(factors if b.draw.chance(2) else reversed(factors)))
    if b.draw.chance(4):
        b.make("cat", f"torch.cat([{product}, {both}], {dim})")


@rule("networks", "convolution", "parameters", "elementwise", weight=3, operators=1)
def norm_and_convolution(b: Builder) -> None:
    """A norm ahead of a convolution: what is padded with is not normalised."""
    one = image(b)
    channels = one.shape[1]
    mean, variance = running_statistics(b, one, channels)
    scale, shift = parameter(b, one, (channels,)), parameter(b, one, (channels,))
    (last,) = b.make("batch_norm", f"F.batch_norm({one}, {mean}, {variance}, {scale}, {shift}, False, 0.1, 1e-5)")
    if b.draw.chance(3):
        (last,) = b.make("relu", f"F.relu({last})")
    weight = parameter(b, one, (2, channels, *b.draw.of((3, 3), (3, 3), (2, 1), (1, 1))))
    b.make("conv2d", f"F.conv2d({last}, {weight}, padding={b.draw.of(1, 1, 0)})")


@rule("networks", "convolution", "parameters", weight=2, operators=1)
def side_by_side_dilations(b: Builder) -> None:
    """Convolutions of one picture that differ in how far apart they look, and not in any size."""
    one = image(b)
    for apart in b.draw.of((1, 2), (2, 1), (1, 2, 3), (1, 3)):
        weight = parameter(b, one, (2, one.shape[1], 3, 3))
        b.make("conv2d", f"F.conv2d({one}, {weight}, padding={apart}, dilation={apart})")


@rule("elementwise", "elementwise", weight=3, operators=1)
def factor_ahead(b: Builder) -> None:
    """A number that something is multiplied with, or divided by, ahead of what keeps order, or signs: with a number
    below zero it does not."""
    one = b.float_value()
    scaled = b.draw.of(f"{one} * -1.0", f"{one} * -1.0", f"-{one}", f"{one} / -2.0", f"{one} * 0.5", f"-2.0 * {one}")
    name, text = b.draw.of(
        ("relu", f"torch.relu({scaled})"),
        ("relu", f"-torch.relu({scaled})"),
        ("abs", f"torch.abs({scaled})"),
        ("leaky_relu", f"F.leaky_relu({scaled}, 0.2)"),
        ("clamp", f"torch.clamp({scaled}, min=-0.5)"),
        ("sign", f"torch.sign({scaled})"),
        ("sqrt", f"torch.sqrt(torch.relu({scaled}))"),
    )
    b.make(name, text)


@rule("reductions", "reductions", "elementwise", weight=2, operators=1)
def factor_ahead_of_the_largest(b: Builder) -> None:
    """The same ahead of what takes the largest or the smallest."""
    one = b.float_value(least=1)
    scaled = b.draw.of(f"({one} * -1.0)", f"(-{one})", f"({one} * 2.0)", f"({one} / -0.5)")
    dim = b.dim(one)
    name, text = b.draw.of(
        ("amax", f"{scaled}.amax({dim})"),
        ("amin", f"{scaled}.amin({dim})"),
        ("argmax", f"{scaled}.argmax({dim})"),
        ("cummax", f"torch.cummax({scaled}, {dim})[0]"),
        ("logsumexp", f"torch.logsumexp({scaled}, {dim})"),
        ("max_pool2d", f"F.max_pool2d({scaled}, 2)"),
    )
    if name == "max_pool2d" and (one.rank != 4 or "convolution" in b.missing):
        raise Abandoned
    b.make(name, text)


@rule("views", "views", "elementwise", "broadcasting", weight=4, operators=2)
def as_large_as_it_is_said(b: Builder) -> None:
    """A view is all that gives a result its size, where what it is combined with would broadcast to less."""
    one = b.pick(lambda value: value.rank >= 1 and (value.floating or value.integral))
    kept, once = ", ".join(["-1"] * one.rank), ", ".join(["1"] * one.rank)
    wide = b.draw.of(
        f"{one}.unsqueeze(0).expand(3, {kept})", f"{one}.expand(2, {kept})", f"{one}[None].repeat(2, {once})"
    )
    neutral = f"([2, {once}], dtype={one.dtype})"  # what changes nothing but the size
    name, text = b.draw.of(
        ("mul", f"{one} * torch.ones{neutral}"),
        ("mul", f"torch.ones{neutral} * {one}"),
        ("add", f"{one} + torch.zeros{neutral}"),
        ("add", f"{wide} + {one}"),
        ("mul", f"{one} * {wide}"),
        ("sub", f"{wide} - {one} * 2"),
        ("maximum", f"torch.maximum({wide}, {one})"),
        ("where", f"torch.where({one} > 0, {wide}, {one})"),
        ("div", f"{wide} / ({one} * {one} + 1)"),
    )
    b.make(name, text)


@rule("networks", "elementwise", "views", weight=3, operators=2)
def past_what_does_nothing(b: Builder) -> None:
    """What an operator returns that may give back what it is given is activated; and that is needed afterwards."""
    one = b.float_value()
    (before,) = b.make("mul", f"{one} * 2.0")
    same = b.draw.of(
        f"F.dropout({before}, 0.5, training=False)",
        f"F.dropout({before}, 0.5, training=False)",
        f"{before}.contiguous()",
        f"{before}.to({before.dtype})",
        f"{before}.reshape({before}.shape)",
        f"{before}.expand_as({before})",
        f"torch.atleast_1d({before})",
    )
    name = b.draw.of("relu", "sigmoid", "tanh")
    (after,) = b.make(name, f"torch.{name}({same})")
    b.make("sub", f"{after} - {before}")


@rule("views", "views", "elementwise", weight=3, operators=2)
def read_after_the_whole(b: Builder) -> None:
    """A part of a value, however it is taken, is read when the whole has been used for the last time."""
    one = b.float_value(least=1)
    (whole,) = b.make("mul", f"{one} * 2.0")
    dim = b.dim(whole, MOST_PIECES)
    name, part = b.draw.of(
        ("chunk", f"{whole}.chunk(2, {dim})[-1]"),
        ("split", f"{whole}.split(1, {dim})[0]"),
        ("unbind", f"{whole}.unbind({dim})[-1]"),
        ("tensor_split", f"torch.tensor_split({whole}, 2, {dim})[0]"),
        ("narrow", f"{whole}.narrow({dim}, 0, 1)"),
        ("transpose", f"{whole}.transpose(0, -1)"),
        ("unsqueeze", f"{whole}.unsqueeze({dim})"),
        ("flatten", f"{whole}.flatten()"),
    )
    (read,) = b.make(name, part, fresh=False)
    activation = b.draw.of("relu", "sigmoid", "tanh")
    b.make(activation, f"torch.{activation}({whole})")
    b.make("sub", f"{read} - 1.0")


@rule("dtypes", "integers", "booleans", "elementwise", weight=2, operators=1)
def whole_numbers_and_fractions(b: Builder) -> None:
    """Whole numbers that are compared with a fraction, or bounded by one."""
    one = b.pick(lambda value: value.integral)
    number = b.draw.of("0.5", "2.5", "-0.5", "1.5", "-1.5")
    compared, sign = b.draw.of(("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="))
    name, text = b.draw.of(
        (compared, f"{one} {sign} {number}"),
        ("where", f"torch.where({one} {sign} {number}, {one}, {one} * 0 - 7)"),
        ("clamp", f"torch.clamp({one}, min={number})"),
        ("clamp", f"torch.clamp({one}, max={number})"),
    )
    if name == "clamp" and "mixed_dtypes" in b.missing:
        raise Abandoned
    b.make(name, text)


@rule("indexing", "views", "integers", weight=2, operators=2)
def fewer_places(b: Builder) -> None:
    """Places of a table that are fewer than it has, along a side that is not looked up."""
    one = b.pick(lambda value: value.floating and value.rank >= 2 and 0 not in value.shape)
    dim = b.draw.upto(one.rank - 1)
    (order,) = b.make("argsort", f"torch.argsort({one}, dim={dim}, stable=True)")
    fewer = b.draw.of(f"{order}[..., :1]", f"{order}[:, :1]", f"{order}[:1]", f"{order}[..., 1:]")
    b.make("gather", f"torch.gather({one}, {dim}, {fewer})")


@rule("networks", "convolution", "parameters", "elementwise", "reductions", weight=1, operators=2)
def large_picture(b: Builder) -> None:
    """A picture of more places than eight bits can count."""
    one = _one_number(b)
    spec = TensorSpec(one.dtype_name, (1, 2, 20, 18), "contiguous", "ordinary", b.draw.seed(), grad=True)
    (wide,) = b.make("mul", f"{b.parameter(spec)} * {one}")
    name, text = b.draw.of(
        ("max_pool2d", f"F.max_pool2d({wide}, 2)"),
        ("max_pool2d", f"F.max_pool2d({wide}, 3, stride=2, padding=1)"),
        ("adaptive_max_pool2d", f"F.adaptive_max_pool2d({wide}, (9, 5))"),
        ("argmax", f"{wide}.flatten(1).argmax(1)"),
    )
    b.make(name, text)


def _one_number(b: Builder) -> Value:
    one = b.float_value()
    return b.make("mean", f"{one}.mean()")[0] if one.rank else one
