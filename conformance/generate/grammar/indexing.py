"""Statements that read and write by index."""

from __future__ import annotations

from conformance.generate.grammar.builder import Builder, Value
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


def _indices(b: Builder, bound: str) -> str:
    """Indices below a bound that is above 0, made of whole numbers that are there, or written down."""
    found = [value for value in b.values if value.integral and value.rank == 1]
    if found and b.draw.chance(2):
        index = b.draw.choice(found)
        # now and then as they are: what is out of range must be refused when it comes
        return f"{index}.long()" if b.draw.chance(4) else f"{index}.long() % {bound}"
    if b.draw.chance(4):
        return f"torch.tensor({b.draw.of([-1], [0, -1])})"
    return f"torch.tensor({b.draw.of([0], [1, 0], [0, 0, 1], [2, 1])}) % {bound}"


def _indexed(b: Builder) -> tuple[Value, int]:
    one = b.pick(lambda value: value.rank >= 1 and 0 not in value.shape)
    dim = b.dim(one)
    return one, dim


@rule("indexing", "views", "integers", weight=3)
def index(b: Builder) -> None:
    one, dim = _indexed(b)
    indices = _indices(b, f"{one}.shape[{dim}]")
    name, text = b.draw.of(
        ("index", f"{one}[{_indices(b, f'{one}.shape[0]')}]"),
        ("index_select", f"torch.index_select({one}, {dim}, {indices})"),
        ("index", f"{one}[..., {_indices(b, f'{one}.shape[-1]')}]" if b.traits.takes_python else f"{one}[..., :2]"),
        ("take", f"torch.take({one}, {_indices(b, f'{one}.numel()')})"),
    )
    b.make(name, text)


@rule("indexing", "views", "integers", weight=4, operators=1)
def several_indices(b: Builder) -> None:
    one = b.pick(lambda value: value.rank >= 2 and 0 not in value.shape)
    row, column = (
        f"(torch.tensor({b.draw.of(*given)}) % {one}.shape[{dim}])"
        for dim, given in enumerate((([1, 0, 2], [0, 1, 1]), ([2, 0, 1], [1, 1, 0])))
    )
    if b.draw.chance(3):  # counted from the end
        column = f"({column} - {one}.shape[1])"
    elif b.draw.chance(4):
        row = f"({row} - {one}.shape[0])"
    square = f"(torch.tensor([[0, 2, 1], [1, 0, 3]]) % {one}.shape[0])"
    text = b.draw.of(
        f"{one}[{row}, {column}]",
        f"{one}[{row}[:, None], {column}]",
        f"{one}[{square}, {column}]",
        f"{one}[{square}]",
        f"{one}[:, {column}]",
        f"{one}[{row}, ..., {b.draw.of('0', '-1')}]",
        f"{one}[{row}, :, {row} % {one}.shape[2]]" if one.rank > 2 else f"{one}.t()[{column}]",
    )
    b.make("index", text)


@rule("indexing", "views", "integers", weight=2, operators=4)
def gather(b: Builder) -> None:
    one, dim = _indexed(b)
    order = b.make("argsort", f"torch.argsort({one}, dim={dim}, stable=True)")[0]
    name, text = b.draw.of(
        ("gather", f"torch.gather({one}, {dim}, {order})"),
        ("take_along_dim", f"torch.take_along_dim({one}, {order}, dim={dim})"),
        ("scatter", f"torch.scatter({one}, {dim}, {order}, {one} * 2)"),
        ("scatter", f"torch.scatter({one}, {dim}, {order} // 2, {b.draw.of('1', '0')})"),
        ("scatter_add", f"torch.scatter_add({one}, {dim}, {order} // 2, {one})"),
    )
    b.make(name, text)


@rule("indexing", "views", "booleans", "elementwise", weight=3, operators=2)
def mask(b: Builder) -> None:
    one = b.pick(lambda value: not value.dtype.is_complex)
    test = f"{one}" if str(one.dtype) == "torch.bool" else f"{one} > {b.number(one)}"
    if "parameters" not in b.missing and b.draw.chance(3):
        test = str(b.buffer(TensorSpec("bool", one.shape, "contiguous", "ordinary", b.draw.seed())))
    name, text = b.draw.of(
        ("masked_fill", f"{one}.masked_fill({test}, {b.draw.of('1', '0', '-1')})"),
        ("where", f"torch.where({test}, {one}, {one} + {one})"),
    )
    b.make(name, text)


@rule("indexing", "views", "booleans", "unbacked_sizes", weight=2, operators=4)
def data_dependent(b: Builder) -> None:
    one = b.pick(lambda value: not value.dtype.is_complex and value.rank >= 1)
    test = f"{one}" if str(one.dtype) == "torch.bool" else f"{one} > 0"
    total = f"{one}.sum()"
    by_place = b.draw.of("", ".cumsum(0)")  # the last of them counts once, and the first as often as there are any
    name, text, like = b.draw.of(
        ("masked_select", f"torch.masked_select({one}, {test}){by_place}.sum()", total),
        ("index", f"{one}[{test}]{by_place}.sum()", total),
        ("nonzero", f"torch.nonzero({test}){by_place}.sum()", f"{one}.long().sum()"),
        ("unique", f"torch.unique({one}){by_place}.sum()", total),
    )
    b.make(name, text, like=like)


@rule("indexing", "views", "integers", operators=4)
def add_at(b: Builder) -> None:
    one, _ = _indexed(b)
    indices = _indices(b, f"{one}.shape[0]")
    values = f"{one}[{indices}]"
    name, text = b.draw.of(
        ("index_add", f"torch.index_add({one}, 0, {indices}, {values})"),
        ("index_fill", f"torch.index_fill({one}, 0, {indices}, 2)"),
        ("index_copy", f"torch.index_copy({one}, 0, torch.tensor([0]), {one}[:1] * 2)"),
        ("index_put", f"torch.index_put({one}, [{indices}], {values}, accumulate=True)"),
    )
    b.make(name, text)


@rule("indexing", "views", "integers", weight=3, operators=2)
def looked_up_apart(b: Builder) -> None:
    """Indices with a slice in between, whose dimension then comes first; side by side they stay where they are."""
    one = b.pick(lambda value: value.rank >= 3 and 0 not in value.shape)
    first, second = f"torch.tensor([{b.draw.of('0, 0', '0')}])", "torch.tensor([0, 0])"
    apart = [f"{one}[{first}, :, {second}]", f"{one}[0, :, {second}]", f"{one}[:, {first}, {second}]"]
    if one.rank > 3:
        apart += [f"{one}[:, {first}, :, {second}]", f"{one}[{first}, :, :, {second}]"]
    b.make("index", b.draw.choice(apart))


@rule("indexing", "views", "integers", "elementwise", weight=3, operators=3)
def from_neighbours(b: Builder) -> None:
    """What comes to each row from others, to some from several and to some from none, as along the edges of a graph."""
    one = b.pick(lambda value: value.floating and value.rank >= 1 and 0 not in value.shape)
    to = f"(torch.arange({one}.shape[0]) // 2 * {b.draw.of(1, 2)})" if one.shape[0] > 1 else "torch.tensor([0])"
    sent = b.draw.of(f"{one} * 2.0", f"torch.relu({one})")
    how, selves = b.draw.of("mean", "mean", "amax", "prod"), b.draw.of(False, False, True)
    spread = f"{to}.reshape(-1{', 1' * (one.rank - 1)}).expand_as({one})"
    into = b.draw.of(f"{one}", f"torch.zeros_like({one})")
    reduced = f"{one}.scatter_reduce(0, {spread}, {sent}, '{how}', include_self={selves})"
    name, text = b.draw.of(
        ("index_add", f"{into}.index_add(0, {to}, {sent}, alpha={b.draw.of(1, 2)})"),
        ("scatter_add", f"{into}.scatter_add(0, {spread}, {sent})"),
        *[("scatter_reduce", reduced)] * 2,
        ("index_put", f"{into}.index_put(({to},), {sent}, accumulate=True)"),
    )
    b.make(name, text)


@rule("indexing", "views", "integers", weight=2, operators=5)
def put_into(b: Builder) -> None:
    """Copies in which a part is something else."""
    one, dim = _indexed(b)
    name, text = b.draw.of(
        ("select_scatter", f"torch.select_scatter({one}, {one}.select({dim}, 0) * 2, {dim}, {b.draw.of(0, -1)})"),
        ("slice_scatter", f"torch.slice_scatter({one}, {one}.narrow({dim}, 0, 1) * 2, {dim}, 0, 1)"),
        ("diagonal_scatter", f"torch.diagonal_scatter({one}, torch.diagonal({one}) * 2)"),
        (
            "scatter_reduce",
            f"torch.scatter_reduce({one}, {dim}, torch.zeros_like({one}, dtype=torch.int64), {one}, "
            f"'{b.draw.of('sum', 'amax', 'mean', 'prod')}', include_self={b.draw.of(True, False)})",
        ),
        (
            "masked_scatter",
            f"{one}.masked_scatter({one} > 0, {one} * 2)" if not one.dtype.is_complex else f"{one} * 2",
        ),
    )
    b.make(name, text)


@rule("indexing", "views", "integers", operators=4)
def counting(b: Builder) -> None:
    index = b.pick(lambda value: value.integral and value.rank >= 1)
    name, text = b.draw.of(
        ("one_hot", f"F.one_hot({index}.long() % 4, 4)"),
        ("bucketize", f"torch.bucketize({index}, torch.tensor([0, 2, 5]))"),
        ("searchsorted", f"torch.searchsorted(torch.tensor([-1, 0, 3]), {index}.long())"),
        ("isin", f"torch.isin({index}, torch.tensor([0, 2]))"),
    )
    b.make(name, text)


@rule("writes", "in_place", "views", "integers", weight=3, operators=1)
def write_at(b: Builder) -> None:
    target = b.make("clone", f"{b.pick(lambda value: value.rank >= 1 and 0 not in value.shape)}.clone()")[0]
    places = f"torch.tensor({b.draw.of([0], [1, 0], [-1])})" if target.shape[0] > 1 else "torch.tensor([0])"
    number = "True" if target.dtype_name == "bool" else b.draw.of("1", "2")
    if target.rank > 1 and b.draw.chance(2):
        places = f"{places}, torch.tensor([0])"
    statement = b.draw.of(
        f"{target}[{places}] = {number}",
        f"{target}[{places}] += {number}",
        f"{target}.index_put_(({places},), {target}[{places}].neg())" if number != "True" else f"{target}[0] = True",
        f"{target}[{target} > 0] = {number}" if not target.dtype.is_complex else f"{target}[0] = {number}",
        f"{target}[{target}.shape[0] - 1] = {number}",
    )
    b.write("index_put_", statement)
