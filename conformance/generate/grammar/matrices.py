"""Statements that multiply matrices."""

from __future__ import annotations

from conformance.generate.grammar.builder import Builder, Value
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


def parameter(b: Builder, like: Value, shape: tuple[int, ...]) -> Value:
    """A parameter of a value's dtype, now and then laid out otherwise."""
    layout = b.draw.of("contiguous", "contiguous", "transposed")
    return b.parameter(TensorSpec(like.dtype_name, shape, layout, "ordinary", b.draw.seed(), not b.draw.chance(6)))


def factor(b: Builder, rank: int | None = None, least: int = 0) -> Value:
    """What is multiplied, of that rank or of at least so many dimensions: something, where nothing cannot be."""
    return b.pick(
        lambda value: (
            value.floating
            and value.rank >= least
            and (rank is None or value.rank == rank)
            and (b.traits.multiplies_nothing or 0 not in value.shape)
        )
    )


def _width(b: Builder, like: Value) -> int:
    """How many values a layer gives for a row: often as many as there are rows, or as it is given."""
    own = [size for size in like.shape if 0 < size <= 33]
    return b.draw.choice((3, 2, 1, 4, 8, 17, *own * 2))


@rule("matrices", "matmul", weight=3)
def matmul(b: Builder) -> None:
    one = factor(b, least=1)
    other = b.pick(
        lambda value: (
            value.dtype == one.dtype and value.rank >= 1 and value.shape[max(0, value.rank - 2)] == one.shape[-1]
        )
    )
    b.make("matmul", f"{one} @ {other}" if b.draw.chance(2) else f"torch.matmul({one}, {other})")


@rule("matrices", "matmul", weight=2)
def with_transposed(b: Builder) -> None:
    one = factor(b, least=2)
    other = b.pick(lambda value: value.dtype == one.dtype and value.rank >= 2 and value.shape[-1] == one.shape[-1])
    b.make("matmul", f"{one} @ {other}.transpose(-1, -2)")


@rule("matrices", "matmul", "parameters", weight=3)
def linear(b: Builder) -> None:
    one = factor(b, least=1)
    width = _width(b, one)
    weight = parameter(b, one, (width, one.shape[-1]))
    bias = f", {parameter(b, one, (width,))}" if b.draw.chance(2) else ""
    b.make("linear", f"F.linear({one}, {weight}{bias})")


@rule("matrices", "matmul", "parameters", weight=2, operators=1)
def with_a_weight_and_back(b: Builder) -> None:
    """A layer, and one whose weight is the first's, seen from the other side: often one of the same sizes. Its weights
    are changed twice, which is exact in this dtype."""
    one = b.pick(lambda value: value.dtype_name == "float32" and value.rank >= 1 and 0 not in value.shape)
    size, grad = one.shape[-1], not b.draw.chance(6)
    width = b.draw.of(size, size, _width(b, one))
    weight = b.parameter(TensorSpec("float32", (width, size), seed=b.draw.seed(), grad=grad))
    turned = TensorSpec("float32", (size, width), "transposed", grad=grad, of=weight.name.removeprefix("self."))
    (between,) = b.make("linear", f"F.linear({one}, {weight})")
    b.make("linear", f"F.linear({between}, {b.parameter(turned)})")


@rule("matrices", "matmul", "parameters")
def layer(b: Builder) -> None:
    one = b.pick(lambda value: str(value.dtype) == "torch.float32" and value.rank >= 1 and value.shape[-1] > 0)
    name = b.module(f"torch.nn.Linear({one.shape[-1]}, {_width(b, one)}, bias={b.draw.of(True, False)})")
    b.make("linear", f"{name}({one})")


@rule("matrices", "matmul", "parameters", "elementwise", "broadcasting", weight=2, operators=1)
def added_to_a_product(b: Builder) -> None:
    """What is nearly the bias of a layer: a column, a number, a whole matrix, or what the product is taken from."""
    one = factor(b, least=2)
    rows, width = one.shape[-2], b.draw.of(one.shape[-2], _width(b, one))
    product = b.make("matmul", f"{one} @ {parameter(b, one, (one.shape[-1], width))}")[0]
    added = parameter(b, one, b.draw.of((rows, 1), (width,), (1, width), (1, 1), (rows, width), (1,)))
    b.make(*b.draw.of(
        ("add", f"{product} + {added}"), ("add", f"{added} + {product}"), ("sub", f"{product} - {added}"),
        ("sub", f"{added} - {product}"), ("mul", f"{product} * {added}"),
        ("add", f"torch.add({added}, {product}, alpha=2)"), ("relu", f"torch.relu({product} + {added})"),
    ))  # fmt: skip


@rule("matrices", "matmul", "elementwise", "reductions", "views", "broadcasting", weight=3, operators=1)
def pairwise(b: Builder) -> None:
    """Rows against rows: products as many as there are rows, to which a column is added, and no row."""
    one = factor(b, rank=2)
    (column,) = b.make("sum", f"({one} * {one}).sum(1, keepdim=True)")
    products = f"({one} @ {one}.t())"
    b.make(*b.draw.of(
        ("add", f"{products} + {column}"),
        ("add", f"{column} + {products}"),
        ("sub", f"{column} + {column}.t() - 2.0 * {products}"),
        ("sub", f"{products} * 2.0 - {column} - {column}.squeeze(1)"),
        ("addmm", f"torch.addmm({column}, {one}, {one}.t(), alpha=-2)"),
        ("div", f"{products} / ({column} + 1.0)"),
    ))  # fmt: skip


@rule("matrices", "matmul", weight=2)
def batched(b: Builder) -> None:
    one = factor(b, rank=3)
    other = b.pick(lambda value: value.dtype == one.dtype and value.rank == 3 and value.shape[0] == one.shape[0])
    flipped = f"{other}" if other.shape[1] == one.shape[2] else f"{other}.transpose(1, 2)"
    if b.draw.chance(2):
        scale = b.draw.of("", ", beta=0", ", beta=0.5, alpha=2")
        added = b.pick(lambda value: value.dtype == one.dtype)
        b.make("baddbmm", f"torch.baddbmm({added}, {one}, {flipped}{scale})")
    else:
        b.make("bmm", f"torch.bmm({one}, {flipped})")


@rule("matrices", "matmul", "views", weight=2)
def shared_by_heads(b: Builder) -> None:
    """Batches of which one has a single matrix where the other has several, in between."""
    one = factor(b, rank=3)
    heads = b.make("stack", f"torch.stack([{one}, {one} * 0.5], dim=1)")[0]
    other = b.draw.of(f"{one}.unsqueeze(1).transpose(-1, -2)", f"{one}.transpose(-1, -2)[:, None]")
    b.make("matmul", f"{heads} @ {other}" if b.draw.chance(2) else f"({other} @ {heads})")


@rule("matrices", "matmul")
def addmm(b: Builder) -> None:
    one = factor(b, rank=2)
    other = b.pick(lambda value: value.dtype == one.dtype and value.rank == 2)
    flipped = f"{other}" if other.shape[0] == one.shape[1] else f"{other}.t()"
    added = b.pick(lambda value: value.dtype == one.dtype and value.rank <= 2)
    scale = b.draw.of("", ", beta=0.5, alpha=2", ", beta=0", ", alpha=-1")
    b.make("addmm", f"torch.addmm({added}, {one}, {flipped}{scale})")


@rule("matrices", "matmul", "parameters", "non_finite", "elementwise", weight=2, operators=3)
def nothing_of_what_is_added(b: Builder) -> None:
    """With a ``beta`` of zero what is added is not looked at, be it infinite (``torch.addmm``)."""
    one = factor(b, least=1)
    rows, weight = f"{one}.reshape(-1, {one}.shape[-1])", parameter(b, one, (3, one.shape[-1]))
    endless = f"({parameter(b, one, (3,))} / {b.draw.of('0.0', '0.0', '2.0')})"
    scale = f"beta={b.draw.of(0, 0, 1)}, alpha={b.draw.of(1, 2)}"
    name, text = b.draw.of(
        ("addmm", f"torch.addmm({endless}, {rows}, {weight}.t(), {scale})"),
        ("baddbmm", f"torch.baddbmm({endless}, {rows}.unsqueeze(0), {weight}.t().unsqueeze(0), {scale})"),
        ("addmv", f"torch.addmv({endless}, {weight}, {rows}.sum(0), {scale})"),
    )
    b.make(name, text)


@rule("matrices", "matmul", weight=2, operators=10)
def products(b: Builder) -> None:
    one = factor(b, least=1)
    name, text = b.draw.of(
        ("outer", f"torch.outer({one}.flatten(), {one}.flatten()[:3])"),
        ("einsum", f"torch.einsum('...i,...i->...', {one}, {one})"),
        ("einsum", f"torch.einsum('...i,j->...ij', {one}, {one}.flatten()[:2])"),
        ("dot", f"torch.dot({one}.flatten(), {one}.flatten())"),
        ("mv", f"torch.mv({one}.reshape(-1, {one}.shape[-1]), {one}.reshape(-1, {one}.shape[-1])[0])"),
        ("tril", f"torch.tril({one})"),
        ("triu", f"torch.triu({one}, diagonal=1)"),
        ("trace", f"torch.trace({one})"),
        ("diagonal", f"torch.diagonal({one}, dim1=-2, dim2=-1)"),
        ("diag_embed", f"torch.diag_embed({one})"),
    )
    b.make(name, text)


@rule("matrices", "matmul", weight=2, operators=7)
def other_products(b: Builder) -> None:
    one = factor(b, least=2)
    other = b.pick(lambda value: value.dtype == one.dtype and value.rank == 2 and value.shape[-1] == one.shape[-1])
    row = f"{other}[0]"
    flat = f"{one}.reshape(-1, {one}.shape[-1])"
    name, text = b.draw.of(
        ("inner", f"torch.inner({one}, {other})"),
        ("matmul", f"{flat}{b.draw.of('', '[:1]')} @ {row}"),
        ("tensordot", f"torch.tensordot({one}, {other}, dims=([{one.rank - 1}], [1]))"),
        ("cdist", f"torch.cdist({flat}, {other}, p={b.draw.of('1.0', '2.0')})"),
        ("kron", f"torch.kron({flat}[:2], {other}[:2])"),
        ("addmv", f"torch.addmv({flat}[:, 0], {flat}, {row}, beta={b.draw.of('1', '0', '0.5')})"),
        ("addr", f"torch.addr({flat}, {flat}[:, 0], {row}, alpha=2)"),
    )
    b.make(name, text)


#: Equations of einsum by the rank of what they take: one or more, with rows as long. Where none says how the labels of
#: the result lie, the alphabet does.
_EQUATIONS = {
    2: ("ij->ji", "ba", "ij->j", "ij,kj->ik", "ij,kj->ki", "ij,kj", "jk,ik", "ba,ca", "ij,kj->ijk", "ij,kj,kl->il"),
    3: ("bij->jb", "bij,bkj->bik", "bij,bkj->bki", "bij,bkj", "nqd,nkd", "...ki,...ji", "zij,zkj->ik", "bij,bkj->b"),
    4: ("nhld->nhd", "bhqd,bhkd->bhqk", "bhqd,bhkd->bqhk", "bhqd,bhkd", "nhld,nhsd->nls", "...qd,...kd->...qk"),
}


@rule("matrices", "matmul", weight=3, operators=1)
def by_equation(b: Builder) -> None:
    one = factor(b, least=2)
    alike = (one.dtype, one.shape[:-2], one.shape[-1:])
    other = b.pick(lambda value: value.rank >= 2 and (value.dtype, value.shape[:-2], value.shape[-1:]) == alike)
    equation = b.draw.choice(_EQUATIONS.get(one.rank, ("...qd,...kd->...qk",)))
    operands = (one, other, other)[: equation.count(",") + 1]
    b.make("einsum", f"torch.einsum('{equation}', {', '.join(map(str, operands))})")


@rule("matrices", "matmul", weight=3, operators=4)
def attention(b: Builder) -> None:
    one = factor(b, least=2)
    if one.rank == 2:
        one = b.make("unsqueeze", f"{one}.unsqueeze(0)", fresh=False)[0]
    query = b.draw.of(f"{one}", f"{one}[..., :1, :]", f"{one}[..., 1:, :]")
    masks = ["", ", is_causal=True", ", is_causal=True", ", scale=0.5"]
    if not {"booleans", "elementwise"}.intersection(b.missing):
        scores = f"{query} @ {one}.transpose(-1, -2)"
        # a row of which nothing is left is zeros
        masks += [f", attn_mask=({scores}) > {b.draw.of('0', '1')}", f", attn_mask=torch.tanh({scores})"]
        masks += [f", attn_mask=torch.arange({one}.shape[-2]) < {b.draw.of('2', f'{one}.shape[-2] - 1')}"]
    extra = b.draw.choice(masks)
    if one.rank == 4 and "mask" not in extra and b.draw.chance(2):
        # several heads that ask share one that is asked, next to each other
        query, extra = f"torch.cat([{query}, {query} * 2.0], dim=1)", f"{extra}, enable_gqa=True"
    elif one.rank == 3 and one.shape[0] == 1 and one.shape[-2] > 1 and b.draw.chance(3):
        one = b.make("stack", f"torch.stack([{one}, {one} - 0.5], dim=1)", fresh=False)[0]
        query, extra = f"torch.cat([{one}, {one} * 2.0], dim=1)", ", enable_gqa=True"
    b.make("scaled_dot_product_attention", f"F.scaled_dot_product_attention({query}, {one}, {one}{extra})")


@rule("matrices", "matmul", "parameters", weight=5, operators=1)
def layers_of_one(b: Builder) -> None:
    """Several layers of the same rows, as attention has them: each with a bias of its own, or none, or some of them."""
    one = factor(b, least=2)
    width, made, biased = _width(b, one), [], b.draw.of((True,), (True,), (False,), (True, False))
    for _ in range(b.draw.of(2, 3)):
        weight = parameter(b, one, (b.draw.of(width, width, 3), one.shape[-1]))
        bias = f", {parameter(b, one, weight.shape[:1])}" if b.draw.choice(biased) else ""
        made += b.make("linear", f"F.linear({one}, {weight}{bias})")
    first, *_, last = made
    if first.shape == last.shape:
        b.make("mul", f"torch.sigmoid({first}) * {last}")
