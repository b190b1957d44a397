"""Statements that reduce, accumulate, sort and normalise along dimensions."""

from __future__ import annotations

from conformance.generate.grammar.builder import Abandoned, Builder, Value
from conformance.generate.grammar.rules import rule


def _comparable(value: Value) -> bool:
    return not value.dtype.is_complex


@rule("reductions", "reductions", weight=4, operators=11)
def reduce(b: Builder) -> None:
    one = b.pick(lambda value: value.floating) if b.draw.chance(2) else b.pick()
    name = b.draw.of("sum", "mean", "amax", "amin", "prod", "std", "var", "logsumexp", "all", "any", "count_nonzero")
    if name in ("mean", "std", "var", "logsumexp") and not one.floating:
        name = "sum"
    if name in ("amax", "amin") and not _comparable(one):
        name = "sum"
    if name not in ("amax", "logsumexp") and b.draw.chance(3):
        b.make(name, f"{one}.{name}()" if name != "logsumexp" else f"torch.logsumexp({one}, 0)")
        return
    dim = str(b.dim(one))
    if one.rank > 1 and name in ("sum", "mean", "amax", "amin", "std", "var", "logsumexp") and b.draw.chance(3):
        dim = b.draw.of("(0, -1)", "(-1, 0)", "(-2, -1)", "(-1, -2)", "(1, 0)")
    keep = ", keepdim=True" if name != "count_nonzero" and b.draw.chance(2) else ""
    extra = f", correction={b.draw.of('0', '1')}" if name in ("std", "var") else ""
    kind = ", dtype=torch.float64" if name in ("sum", "mean", "prod") and b.draw.chance(8) else ""
    b.make(name, f"torch.{name}({one}, dim={dim}{extra}{keep}{kind})")


@rule("reductions", "reductions", weight=2, operators=5)
def extreme(b: Builder) -> None:
    one = b.pick(_comparable)
    name = b.draw.of("max", "min", "median", "cummax", "cummin")
    keep = ", keepdim=True" if not name.startswith("cum") and b.draw.chance(2) else ""
    b.make(name, f"torch.{name}({one}, dim={b.dim(one)}{keep})", several=2)


@rule("reductions", "reductions", weight=2, operators=8)
def reduced_otherwise(b: Builder) -> None:
    """Reductions that compilers write out of others, or leave out what they do not expect."""
    one = b.float_value(least=1)
    dim, keep = b.dim(one), f"keepdim={b.draw.of(True, False)}"
    name, text = b.draw.of(
        ("std_mean", f"torch.std_mean({one}, dim={dim}, correction={b.draw.of(0, 1)}, {keep})"),
        ("var_mean", f"torch.var_mean({one}, dim={dim}, correction={b.draw.of(0, 1)}, {keep})"),
        ("aminmax", f"torch.aminmax({one}, dim={dim}, {keep})"),
        ("nansum", f"torch.nansum({one}, dim={dim}, {keep})"),
        ("nanmean", f"torch.nanmean({one}, dim={dim}, {keep})"),
        ("logcumsumexp", f"torch.logcumsumexp({one}, dim={dim})"),
        ("diff", f"torch.diff({one}, dim={dim})"),
        ("kthvalue", f"torch.kthvalue({one}, 1, dim={dim}, {keep})[0]"),
        ("max", f"{b.draw.of('torch.max', 'torch.min', 'torch.median')}({one})"),
        ("sum", f"torch.sum({one}, dim=(0, -1), {keep})" if one.rank > 1 else f"{one}.sum()"),
    )
    b.make(name, text, several=2 if name in ("std_mean", "var_mean", "aminmax") else 1)


@rule("reductions", "reductions", "booleans", "views", weight=2, operators=3)
def counted(b: Builder) -> None:
    """What is added up of more elements than a byte counts."""
    one = b.float_value()
    if 0 in one.shape:
        raise Abandoned
    many = b.make("repeat", f"({one} > {b.draw.of('-1', '-10', '0')}).flatten().repeat({b.draw.of(300, 40, 70)})")[0]
    name, text = b.draw.of(
        ("sum", f"{many}.sum()"),
        ("sum", f"torch.sum({many}, dim=0, keepdim=True)"),
        ("count_nonzero", f"torch.count_nonzero({many}, dim=0)"),
        ("cumsum", f"torch.cumsum({many}, dim=0)"),
        ("cumsum", f"{many}.flip(0).cumsum(0)"),
        ("mean", f"{many}.float().mean()"),
    )
    b.make(name, text)


@rule("reductions", "reductions", operators=2)
def index_of_extreme(b: Builder) -> None:
    one = b.pick(_comparable)
    name = b.draw.of("argmax", "argmin")
    arguments = f"dim={b.dim(one)}" if one.rank and not b.draw.chance(4) else ""
    b.make(name, f"{one}.{name}({arguments})")


@rule("reductions", "reductions", weight=2)
def accumulate(b: Builder) -> None:
    one = b.pick()
    name = b.draw.of("cumsum", "cumprod", "cumsum")
    b.make(name, f"torch.{name}({one}, dim={b.dim(one)})")


@rule("reductions", "reductions", weight=2, operators=3)
def softmax(b: Builder) -> None:
    one = b.float_value(least=1)
    name = b.draw.of("softmax", "log_softmax", "softmin")
    mask = ""
    if b.draw.chance(3) and not {"non_finite", "booleans", "elementwise"}.intersection(b.missing):
        # as attention masks: now and then a whole row
        mask = f".masked_fill({one} > {b.draw.of('0', '-1')}, float('-inf'))"
    b.make(name, f"F.{name}({one}{mask}, dim={b.dim(one)})")


@rule("reductions", "reductions", weight=2, operators=4)
def order(b: Builder) -> None:
    one = b.pick(_comparable)
    dim = b.dim(one)
    match b.draw.of("sort", "argsort", "topk", "flip"):
        case "sort":
            # stable: else PyTorch leaves the order of ties open
            b.make("sort", f"torch.sort({one}, dim={dim}, descending={b.draw.of(False, True)}, stable=True)", several=2)
        case "argsort":
            b.make("argsort", f"torch.argsort({one}, dim={dim}, stable=True)")
        case "topk":
            # values alone: PyTorch does not say which of several equal elements is taken
            b.make("topk", f"torch.topk({one}, {b.draw.of(1, 2)}, dim={dim})[0]")
        case _:
            b.make("flip", f"torch.flip({one}, [{dim}])")


@rule("reductions", "reductions", "booleans", "mixed_dtypes", weight=2, operators=2)
def masks_in_order(b: Builder) -> None:
    """What is sorted from the largest down, of dtypes that have nothing below zero."""
    one = b.pick(lambda value: value.rank >= 1 and _comparable(value))
    keys = f"({one} > {b.draw.of(0, 1)})" + ("" if "integers" in b.missing else b.draw.of("", ".to(torch.uint8)"))
    options = f"dim={b.dim(one)}, descending={b.draw.of(True, True, False)}, stable=True"
    if b.draw.chance(2):
        b.make("argsort", f"torch.argsort({keys}, {options})")
    else:
        b.make("sort", f"torch.sort({keys}, {options})", several=2)


@rule("reductions", "reductions", operators=3)
def norm(b: Builder) -> None:
    one = b.float_value(least=1)
    if b.draw.chance(3):  # what is zero along a dimension has a norm too, and a gradient
        one = b.make("relu", f"torch.relu({one})")[0]
    p = b.draw.of("2", "1", "float('inf')", "3")
    name, text = b.draw.of(
        ("vector_norm", f"torch.linalg.vector_norm({one}, {p}, dim={b.dim(one)})"),
        ("normalize", f"F.normalize({one}, dim={b.dim(one)})"),
        ("norm", f"torch.norm({one})"),
    )
    b.make(name, text)


@rule("reductions", "reductions", "views", "integers", weight=2, operators=6)
def of_long_rows(b: Builder) -> None:
    """Rows that a compiler reduces piece by piece, of which the last may be shorter."""
    one = b.float_value()
    if 0 in one.shape:
        raise Abandoned
    times = b.draw.of(600, 784, 1030, 1500) // one.meta.numel() + 1
    many = b.make("repeat", f"{one}.flatten().repeat({times})")[0]
    row = b.make("arange", f"{many} + torch.arange({many}.shape[0]).to({many}.dtype) * 1e-3")[0]
    rows = f"torch.stack([{row}, {row} * 0.5])"
    half, beyond_half = "", list[tuple[str, str]]()
    if "half_precision" not in b.missing:
        half = b.draw.of(".to(torch.bfloat16)", ".half()")
        # means that the dtype holds, of sums that it does not
        beyond_half = [
            ("mean", f"({rows}.abs() * 99.0).half().mean(dim=-1)"), ("mean", f"({rows} * 20.0).half().pow(2).mean()")
        ]  # fmt: skip
    name, text = b.draw.of(
        ("mean", f"{rows}.mean(dim=-1)"), ("mean", f"{rows}.mean()"), ("sum", f"{rows}.sum(-1)"),
        ("argmax", f"{rows}{half}.argmax(dim=-1)"),  # a place that the dtype of the values could not hold
        ("var", f"{rows}.var(dim=1)"), ("softmax", f"torch.softmax({row}, dim=0)"), ("amax", f"{rows}.amax(dim=-1)"),
        ("logsumexp", f"torch.logsumexp({rows}, dim=1)"), *beyond_half,
    )  # fmt: skip
    b.make(name, text)


@rule("reductions", "reductions", "booleans", "integers", "views", "elementwise", weight=2, operators=3)
def votes(b: Builder) -> None:
    """How many of several masks agree: their sum counts, where one and another would be one."""
    one = b.float_value(least=1)
    masks = f"[{one} > 0, {one} > -1.0, {one} < 0.5]"
    name, text = b.draw.of(
        ("sum", f"torch.stack({masks}).sum(0)"),
        ("sum", f"torch.stack({masks}, dim=-1).sum(-1)"),
        ("mean", f"torch.stack({masks}).float().mean(0)"),
        ("ge", f"torch.stack({masks}).sum(0) >= 2"),
        ("cumsum", f"torch.stack({masks}).cumsum(0)"),
    )
    b.make(name, text)
