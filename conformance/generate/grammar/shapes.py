"""Statements that rearrange: views, joins, copies."""

from __future__ import annotations

import torch

from conformance.generate.grammar.builder import Abandoned, Builder, Value, elements
from conformance.generate.grammar.rules import rule


def _order(b: Builder, one: Value) -> str:
    """An order of a value's dimensions: backwards, one further, or any other."""
    dims = list(range(one.rank))
    match b.draw.of("backwards", "further", "any"):
        case "backwards":
            dims.reverse()
        case "further":
            dims = [*dims[1:], *dims[:1]]
        case _:
            dims = [dims.pop(b.draw.upto(len(dims) - 1)) for _ in range(one.rank)]
    return ", ".join(map(str, dims))


@rule("views", "views", weight=4, operators=16)
def view(b: Builder) -> None:
    one = b.pick(lambda value: value.rank >= 1)
    dim = b.dim(one)
    size = one.shape[dim]
    start = b.draw.of(0, 1)
    name, text = b.draw.of(
        ("slice", f"{one}[{start}:]"),
        ("slice", f"{one}[..., ::2]"),
        ("slice", f"{one}[..., {start}:{start + 2}]"),
        ("slice", f"{one}[:-1]"),
        ("slice", f"{one}[..., 1::2]"),
        ("slice", f"{one}[-2:]"),
        # bounds stop at the ends, as where the last of a sequence are taken that may be shorter
        ("slice", b.draw.of(f"{one}[..., -4:]", f"{one}[-5:]", f"{one}[..., 1:9]", f"{one}[..., :-4]")),
        ("slice", f"{one}[:, -1:]" if one.rank > 1 else f"{one}[None]"),
        ("select", f"{one}[{b.draw.of(0, -1)}]"),
        ("select", f"{one}.select({dim}, 0)"),
        ("transpose", f"{one}.transpose(0, -1)"),
        ("permute", f"{one}.permute({_order(b, one)})"),
        ("unsqueeze", f"{one}.unsqueeze({b.draw.of(0, -1)})"),
        ("squeeze", f"{one}.squeeze()" if b.draw.chance(2) else f"{one}.squeeze({dim})"),
        ("narrow", f"{one}.narrow({dim}, 0, {max(size - 1, 0)})"),
        ("expand", f"{one}.unsqueeze(0).expand(3, {', '.join(['-1'] * one.rank)})"),
        ("flatten", f"{one}.flatten({b.draw.of('', '1', '0, 1') if one.rank > 1 else ''})"),
        ("diagonal", f"torch.diagonal({one})"),
        ("unfold", f"{one}.unfold({dim}, 2, 1)"),
        ("movedim", f"torch.movedim({one}, 0, -1)"),
        ("as_strided", f"torch.as_strided({one}.contiguous(), (2, 2), (1, 1))"),
    )
    if name == "as_strided" and elements(one.shape) < 3:
        raise Abandoned  # the meta device has any memory
    b.make(name, text)


@rule("views", "views", "elementwise", "reductions", "broadcasting", weight=3, operators=1)
def part_of_a_broadcast(b: Builder) -> None:
    """A part of what was computed of two operands, one of which has a size of one where the part is taken."""
    one = b.float_value(least=1)
    dim = b.draw.of(0, -1)
    (narrow,) = b.make("amax", f"{one}.amax({dim}, keepdim=True)")
    combined = b.draw.of(f"({one} - {narrow})", f"({narrow} * {one})", f"({one} + {narrow})")
    ahead = "" if dim == 0 else "..., "
    name, text = b.draw.of(
        ("slice", f"{combined}[{ahead}1:]"),
        ("slice", f"{combined}[{ahead}:-1]"),
        ("slice", f"{combined}[{ahead}::2]"),
        ("select", f"{combined}.select({dim}, -1)"),
    )
    # a part that is a result itself has to be a view
    b.make(name, b.draw.of("torch.relu({})", "{} * 2.0", "{}", "torch.sigmoid({})").format(text))


#: Parts of a dimension, which make others when one is taken of another.
_PARTS = ("::2", "1::2", "1:", ":-1", "::3", "-3:", "1:4:2", "1:3")


@rule("views", "views", weight=3, operators=1)
def part_of_a_part(b: Builder) -> None:
    """A part of a part along one dimension: it ends where the first one ends, however long what that is of may be."""
    one = b.pick(lambda value: value.rank >= 1)
    ahead = "..., " if b.draw.chance(2) else ""
    first, second = b.draw.of(":-1", ":2", *_PARTS), b.draw.of("1:", "1:", "::2", "1::2", ":-1", "-1:", ":1")
    b.make("slice", f"{one}[{ahead}{first}][{ahead}{second}]")


@rule("views", "views", weight=2, operators=2)
def in_a_row(b: Builder) -> None:
    """Two of a kind, one behind the other, which a compiler may make one of."""
    one = b.pick(lambda value: value.rank >= 2)
    order = _order(b, one)
    dim, first, second = b.dim(one), b.draw.of(*_PARTS), b.draw.of("1:", "::2", "1::2", ":-1", "-1:", ":1")
    name, text = b.draw.of(
        ("slice", f"{one}[..., {first}][{second}]"),
        ("roll", f"torch.roll(torch.roll({one}, 1, {dim}), {b.draw.of('-2', '1')}, {b.draw.of(dim, 0)})"),
        ("select", f"{one}[..., {first}].select(-1, {b.draw.of('0', '-1')})"),
        ("unsqueeze", f"{one}.unsqueeze({b.draw.of('0', '1', '-1')}).squeeze({b.draw.of('0', '-1')})"),
        ("permute", f"{one}.permute({order}).permute({b.draw.of(order, _order(b, one))})"),
        ("permute", f"{one}.permute({order}).transpose(0, {b.draw.of('-1', '1')})"),
        ("transpose", f"{one}.transpose(0, 1).transpose(-1, -2)"),
        ("flip", f"torch.flip(torch.flip({one}, [0]), [-1])"),
        ("neg", f"-(-{one})"),
    )
    b.make(name, text)


@rule("views", "views", weight=3, operators=2)
def reshape(b: Builder) -> None:
    one = b.pick()
    count = elements(one.shape)
    target = b.draw.of("-1", "1, -1", "-1, 1")
    if count and count % 2 == 0 and b.draw.chance(2):
        target = b.draw.of("2, -1", "-1, 2")
    if one.rank > 1 and b.draw.chance(2):
        target = b.draw.of(f"{one}.shape[0], -1", f"-1, {one}.shape[-1]")
    name = b.draw.of("reshape", "view")
    b.make(name, f"{one}.{name}({target})")


@rule("views", "views", weight=3, operators=2)
def join(b: Builder) -> None:
    one = b.pick(lambda value: value.rank >= 1)
    other = b.pick(lambda value: value.rank == one.rank)
    name = b.draw.of("cat", "stack", "cat")
    third = f", {one}" if b.draw.chance(3) else ""
    b.make(name, f"torch.{name}([{one}, {other}{third}], dim={b.dim(one)})")


@rule("views", "views", "empty", "mixed_dtypes")
def joined_with_nothing(b: Builder) -> None:
    """What has no elements still has a dtype, to which the others are promoted."""
    one = b.pick(lambda value: value.rank >= 1 and not value.dtype.is_complex)
    dim = b.dim(one)
    dtypes = ["float32"] + ["float64"] * ("float64" not in b.missing) + ["int64"] * ("integers" not in b.missing)
    dtype = f"torch.{b.draw.of(*dtypes)}"
    nothing = b.draw.of(f"{one}.narrow({dim}, 0, 0).to({dtype})", f"torch.zeros(0, dtype={dtype})")
    parts = b.draw.of(f"{nothing}, {one}", f"{one}, {nothing}", f"{one}, {nothing}, {one}")
    b.make("cat", f"torch.cat([{parts}], dim={dim})")


@rule("views", "views", operators=4)
def joined_otherwise(b: Builder) -> None:
    one = b.pick()
    other = b.pick(lambda value: value.rank == one.rank)
    name, text = b.draw.of(
        ("hstack", f"torch.hstack([{one}, {other}])"),
        ("vstack", f"torch.vstack([{one}, {other}])"),
        ("dstack", f"torch.dstack([{one}, {other}])"),
        ("block_diag", f"torch.block_diag({one}, {other})"),
    )
    b.make(name, text)


@rule("views", "views", weight=2)
def split(b: Builder) -> None:
    one = b.pick(lambda value: value.rank >= 1)
    dim = b.dim(one)
    size = one.shape[dim]
    if size < 2:
        raise Abandoned
    if b.draw.chance(4):
        b.make("unbind", f"torch.unbind({one}.narrow({dim}, 0, 2), dim={dim})", several=2)
    elif b.draw.chance(2):
        wanted = b.draw.of(2, 3, 4)
        pieces = len(torch.chunk(one.meta, wanted, dim))  # all of one size but the last: fewer than wanted, perhaps
        b.make("chunk", f"torch.chunk({one}, {wanted}, dim={dim})", several=pieces)
    else:
        b.make("split", f"torch.split({one}, [1, {size - 1}], dim={dim})", several=2)


@rule("views", "views", weight=2, operators=8)
def repeat(b: Builder) -> None:
    one = b.pick()
    name, text = b.draw.of(
        ("repeat", f"{one}.repeat({', '.join(['2'] * max(one.rank, 1))})"),
        ("tile", f"torch.tile({one}, (2,))"),
        ("repeat_interleave", f"{one}.repeat_interleave(2)"),
        ("roll", f"torch.roll({one}, 1)"),
        ("flip", f"torch.flip({one}, [{b.dim(one)}])"),
        ("rot90", f"torch.rot90({one})"),
        ("expand_as", f"{one}.expand_as({b.pick()})"),
        ("broadcast_to", f"torch.broadcast_to({one}, (2, *{one}.shape))" if b.traits.takes_python else f"{one} + 0"),
    )
    b.make(name, text)


@rule("views", "views", weight=2, operators=6)
def copy(b: Builder) -> None:
    one = b.pick()
    name, text = b.draw.of(
        ("clone", f"{one}.clone()"), ("contiguous", f"{one}.contiguous()"), ("detach", f"{one}.detach()"),
        ("zeros_like", f"torch.zeros_like({one})"), ("ones_like", f"torch.ones_like({one}) + {one}"),
        ("alias", f"{one}.view({one}.shape)" if b.traits.takes_python else f"{one}.view_as({one})"),
    )  # fmt: skip
    b.make(name, text)


@rule("views", "views")
def memory_format(b: Builder) -> None:
    one = b.pick(lambda value: value.rank == 4)
    b.make("contiguous", f"{one}.contiguous(memory_format=torch.{b.draw.of('channels_last', 'contiguous_format')})")


@rule("views", "views", weight=2, operators=10)
def factory(b: Builder) -> None:
    one = b.pick(lambda value: value.rank >= 1)
    size = f"{one}.shape[{b.dim(one)}]" if b.draw.chance(2) else b.draw.of("3", "1", "0")
    name, text = b.draw.of(
        ("arange", f"torch.arange({size})"),
        ("arange", "torch.arange(0.5, 3.0, 0.5)"),
        ("full", f"torch.full(({size}, 2), 1.5)"),
        ("ones", f"torch.ones({size}, 2)"),
        ("zeros", f"torch.zeros(({size},), dtype=torch.float32)"),
        ("eye", f"torch.eye({size})"),
        ("linspace", "torch.linspace(-1.0, 1.0, 5)"),
        ("full_like", f"torch.full_like({one}, 2)"),
        ("new_zeros", f"{one}.new_zeros(({size},))"),
        ("tensor", "torch.tensor([1.0, -2.5, 0.0])"),
    )
    b.make(name, text)


@rule("views", "views", "elementwise", "integers", weight=2, operators=2)
def by_position(b: Builder) -> None:
    """What is added to each place of the last dimension by where it is, and by how many places there are."""
    one = b.pick(lambda value: value.floating and value.rank >= 1)
    many = f"{one}.shape[-1]"
    name, table = b.draw.of(
        ("arange", f"torch.arange({many}) / {many}"),
        ("arange", f"{many} - 1 - torch.arange({many})"),
        ("arange", f"(torch.arange({many}) + 1) / ({many} + 1)"),
        ("arange", f"torch.exp(torch.arange({many}) * -0.5)"),
        ("flip", f"torch.arange({many}).flip(0)"),
        ("arange", f"torch.arange({many}) * 2 - {many}"),
        ("linspace", f"torch.linspace(-1.0, 1.0, {many})"),
    )
    (places,) = b.make(name, table)
    b.make("add", f"{one} + {places}.to({one.dtype})")


@rule("views", "views", "elementwise", weight=3, operators=1)
def computed_of_a_view(b: Builder) -> None:
    """What is computed of a view has memory of its own: what it is a view of is another's, if nothing else uses it."""
    one = b.pick(lambda value: value.floating and value.rank >= 1 and value.origin != "made")
    name, seen = b.draw.of(
        ("slice", "[1:]"), ("flatten", ".flatten()"), ("transpose", ".transpose(0, -1)"), ("view", ".view(-1)"),
        ("unsqueeze", ".unsqueeze(0)"),
    )  # fmt: skip
    view = b.make(name, f"{one}{seen}", fresh=False)[0]
    name = b.draw.of("relu", "sigmoid", "tanh", "exp", "neg")
    b.make(name, f"torch.{name}({view})")


@rule("views", "views", "elementwise", "broadcasting", weight=2, operators=2)
def expansions_that_meet(b: Builder) -> None:
    """Two values that were made larger alike: one of the expansions may go, and not both."""
    one = b.float_value(least=1)
    (other,) = b.make("sigmoid", f"torch.sigmoid({one})")
    sizes = ", ".join(["-1"] * (one.rank - 1))
    dim, larger = b.draw.of((0, f"3, {sizes}, -1" if sizes else "3, -1"), (-2, f"{sizes}, 3, -1" if sizes else "3, -1"))
    first, second = (f"{each}.unsqueeze({dim}).expand({larger})" for each in (one, other))
    name, text = b.draw.of(
        ("mul", f"{first} * {second}"),
        ("add", f"{first} + {second}"),
        ("sub", f"{first} - {second}"),
        ("maximum", f"torch.maximum({first}, {second})"),
    )
    b.make(name, text)
