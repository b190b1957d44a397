"""The operators that mutants can be wrong in: their families, what PyTorch calls them, and how a witness uses each.

Imports no torch.
"""

from __future__ import annotations

import dataclasses

FLOATS = ("float32", "float64", "bfloat16", "float16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
REAL = (*FLOATS, *INTEGERS)
COMPLEX = ("complex64",)
WHOLE = (*INTEGERS, "bool")
ANY = (*REAL, "bool", *COMPLEX)

ANY_RANK = (0, 1, 2, 3, 4, 5)
FROM_1 = (1, 2, 3, 4, 5)
FROM_2 = (2, 3, 4, 5)


@dataclasses.dataclass(frozen=True)
class Operator:
    """One operator. ``kernels`` are names under which PyTorch dispatches it, without trailing underscores.

    ``expression`` applies it to ``x``, whose dtype is one of ``dtypes`` and whose rank one of ``ranks``, and to what
    ``others`` say: names with an expression of each, which may call ``like(x, *sizes)``.
    """

    name: str
    family: str
    expression: str
    kernels: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    dtypes: tuple[str, ...] = FLOATS
    ranks: tuple[int, ...] = ANY_RANK
    #: Whether PyTorch computes a gradient of it.
    differentiable: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that it is called by."""
        return (self.name, *self.kernels)


_SAME = (("y", "like(x, *x.shape)"),)
_POSITIVE = (("y", "like(x, *x.shape).abs() + 1"),)
_INDEX = (("i", "torch.tensor([0]) if x.shape[0] else torch.empty(0, dtype=torch.int64)"),)


def _unary(*names: str, dtypes: tuple[str, ...] = FLOATS, family: str = "unary") -> list[Operator]:
    return [Operator(name, family, f"torch.{name}(x)", dtypes=dtypes) for name in names]


def _binary(
    *names: str, dtypes: tuple[str, ...] = REAL, family: str = "binary", differentiable: bool = True
) -> list[Operator]:
    return [
        Operator(name, family, f"torch.{name}(x, y)", (), _SAME, dtypes, differentiable=differentiable)
        for name in names
    ]


def _along(*names: str, family: str, dtypes: tuple[str, ...] = FLOATS, keywords: str = "") -> list[Operator]:
    return [Operator(name, family, f"torch.{name}(x, -1{keywords})", dtypes=dtypes, ranks=FROM_1) for name in names]


OPERATORS: tuple[Operator, ...] = (
    *_unary("exp", "sin", "cos", "tanh", "sigmoid", "erf", "sqrt", "rsqrt", "log", "log1p", "expm1", "reciprocal"),
    *_unary("floor", "ceil", "round", "trunc"),
    *_unary("abs", "neg", "sign", dtypes=REAL),
    *_unary("relu", dtypes=REAL, family="activation"),
    Operator("gelu", "activation", "torch.nn.functional.gelu(x)"),
    Operator("silu", "activation", "torch.nn.functional.silu(x)"),
    Operator("leaky_relu", "activation", "torch.nn.functional.leaky_relu(x)"),
    Operator("elu", "activation", "torch.nn.functional.elu(x)"),
    Operator("hardtanh", "activation", "torch.nn.functional.hardtanh(x)"),
    Operator("softplus", "activation", "torch.nn.functional.softplus(x)"),
    *_binary("add", "mul", dtypes=ANY),
    Operator("sub", "binary", "torch.sub(x, y)", ("rsub",), _SAME, (*REAL, *COMPLEX)),
    Operator("div", "binary", "torch.div(x, y)", ("true_divide", "truediv"), _POSITIVE, REAL),
    Operator("pow", "binary", "torch.pow(x, 2)", (), (), REAL),
    Operator("remainder", "binary", "torch.remainder(x, y)", (), _POSITIVE, REAL),
    Operator("floor_divide", "binary", "torch.floor_divide(x, y)", ("floordiv",), _POSITIVE, REAL),
    *_binary("maximum", "minimum"),
    *_binary("eq", "ne", "lt", "le", "gt", "ge", dtypes=REAL, family="comparison", differentiable=False),
    Operator("isnan", "comparison", "torch.isnan(x)", differentiable=False),
    *_binary("bitwise_and", "bitwise_or", "bitwise_xor", dtypes=WHOLE, family="logic", differentiable=False),
    *_binary("logical_and", "logical_or", dtypes=WHOLE, family="logic", differentiable=False),
    Operator("bitwise_not", "logic", "torch.bitwise_not(x)", ("invert",), (), WHOLE, differentiable=False),
    Operator("where", "selection", "torch.where(x > 0, x, y)", (), _SAME, REAL),
    Operator("clamp", "selection", "torch.clamp(x, -1, 1)", ("clamp_min", "clamp_max", "clip"), (), FLOATS),
    Operator("masked_fill", "selection", "x.masked_fill(x > 0, 2)", (), (), REAL),
    Operator("sum", "reduction", "torch.sum(x)", (), (), ANY),
    Operator("mean", "reduction", "torch.mean(x)"),
    Operator("prod", "reduction", "torch.prod(x)", (), (), REAL),
    *_along("amax", "amin", family="reduction", dtypes=REAL),
    *_along("logsumexp", family="reduction"),
    Operator("var", "reduction", "torch.var(x, -1)", ranks=FROM_1),
    Operator("std", "reduction", "torch.std(x, -1)", ranks=FROM_1),
    Operator("any", "reduction", "torch.any(x)", (), (), ANY, differentiable=False),
    Operator("all", "reduction", "torch.all(x)", (), (), ANY, differentiable=False),
    Operator("norm", "reduction", "torch.linalg.vector_norm(x)", ("linalg_vector_norm",)),
    Operator("argmax", "order", "torch.argmax(x, -1)", (), (), REAL, FROM_1, differentiable=False),
    Operator("argmin", "order", "torch.argmin(x, -1)", (), (), REAL, FROM_1, differentiable=False),
    Operator("max", "order", "torch.max(x, -1)[1]", (), (), REAL, FROM_1, differentiable=False),
    Operator("min", "order", "torch.min(x, -1)[1]", (), (), REAL, FROM_1, differentiable=False),
    Operator("sort", "order", "torch.sort(x, stable=True, dim=-1)[1]", (), (), REAL, FROM_1),
    Operator("argsort", "order", "torch.argsort(x, stable=True, dim=-1)", (), (), REAL, FROM_1, differentiable=False),
    Operator("topk", "order", "torch.topk(x, 1)[0]", (), (), REAL, FROM_1),
    *_along("cumsum", "cumprod", family="cumulative", dtypes=REAL),
    Operator("mm", "matmul", "torch.mm(x, y)", (), (("y", "like(x, x.shape[-1], 3)"),), ranks=(2,)),
    Operator(
        "addmm", "matmul", "torch.addmm(z, x, y)", (), (("y", "like(x, x.shape[-1], 3)"), ("z", "like(x, 3)")),
        ranks=(2,),
    ),
    Operator("bmm", "matmul", "torch.bmm(x, y)", (), (("y", "like(x, x.shape[0], x.shape[-1], 3)"),), ranks=(3,)),
    Operator("matmul", "matmul", "torch.matmul(x, y)", (), (("y", "like(x, x.shape[-1], 3)"),), ranks=FROM_1),
    Operator(
        "linear", "matmul", "torch.nn.functional.linear(x, y, z)", ("addmm",),
        (("y", "like(x, 3, x.shape[-1])"), ("z", "like(x, 3)")), ranks=(2, 3),
    ),
    Operator("mv", "matmul", "torch.mv(x, y)", (), (("y", "like(x, x.shape[-1])"),), ranks=(2,)),
    Operator("dot", "matmul", "torch.dot(x, y)", (), _SAME, ranks=(1,)),
    Operator(
        "conv2d", "convolution", "torch.nn.functional.conv2d(x, y, z, padding=1)", ("convolution",),
        (("y", "like(x, 3, x.shape[1], 3, 3)"), ("z", "like(x, 3)")), ranks=(4,),
    ),
    Operator(
        "conv1d", "convolution", "torch.nn.functional.conv1d(x, y, padding=1)", ("convolution",),
        (("y", "like(x, 2, x.shape[1], 3)"),), ranks=(3,),
    ),
    Operator(
        "layer_norm", "norm", "torch.nn.functional.layer_norm(x, [y.shape[0]], y)", ("native_layer_norm",),
        (("y", "like(x, x.shape[-1])"),), ranks=FROM_1,
    ),
    Operator(
        "batch_norm", "norm", "torch.nn.functional.batch_norm(x, y, y.abs() + 1)", ("native_batch_norm",),
        (("y", "like(x, x.shape[1])"),), ranks=(2, 3, 4),
    ),
    Operator("group_norm", "norm", "torch.nn.functional.group_norm(x, 1)", ("native_group_norm",), ranks=(3, 4)),
    Operator(
        "softmax", "softmax", "torch.softmax(x, -1)", ("_softmax",), ranks=FROM_1,
    ),
    Operator("log_softmax", "softmax", "torch.log_softmax(x, -1)", ("_log_softmax",), ranks=FROM_1),
    Operator(
        "max_pool2d", "pooling", "torch.nn.functional.max_pool2d(x, 2)", ("max_pool2d_with_indices",), ranks=(3, 4),
    ),
    Operator("avg_pool2d", "pooling", "torch.nn.functional.avg_pool2d(x, 2)", ranks=(3, 4)),
    Operator(
        "adaptive_avg_pool2d", "pooling", "torch.nn.functional.adaptive_avg_pool2d(x, [2, 2])",
        ("_adaptive_avg_pool2d",), ranks=(3, 4),
    ),
    Operator("index_select", "indexing", "torch.index_select(x, 0, i)", (), _INDEX, ANY, FROM_1),
    Operator("index", "indexing", "x[i]", ("getitem", "__getitem__"), _INDEX, ANY, FROM_1),
    Operator("gather", "indexing", "torch.gather(x, -1, i)", (), (("i", "torch.zeros(x.shape, dtype=torch.int64)"),),
             ANY, FROM_1),
    Operator("take", "indexing", "torch.take(x, i)", (), _INDEX, ANY, FROM_1),
    Operator("embedding", "indexing", "torch.nn.functional.embedding(i, x)", (), _INDEX, FLOATS, (2,)),
    Operator("scatter", "scatter", "torch.scatter(x, 0, i, 2)", (),
             (("i", "torch.zeros(x.shape, dtype=torch.int64)"),), REAL, FROM_1),
    Operator("index_add", "scatter", "torch.index_add(x, 0, i, x[i])", (), _INDEX, REAL, FROM_1),
    Operator("index_copy", "scatter", "torch.index_copy(x, 0, i, x[i] + 1)", (), _INDEX, REAL, FROM_1),
    Operator("index_put", "scatter", "torch.index_put(x, [i], x[i] + 1)", (), _INDEX, REAL, FROM_1),
    Operator("view", "view", "x.reshape(-1)", ("reshape", "_unsafe_view", "flatten", "_reshape_alias"), (), ANY),
    Operator("transpose", "view", "x.transpose(0, -1)", ("t", "permute"), (), ANY, FROM_2),
    Operator("slice", "view", "x[1:]", ("narrow", "getitem", "__getitem__"), (), ANY, FROM_1),
    Operator("select", "view", "x.select(-1, 0)", ("getitem", "__getitem__"), (), ANY, FROM_1),
    Operator("unsqueeze", "view", "x.unsqueeze(0)", (), (), ANY),
    Operator("squeeze", "view", "x.squeeze()", (), (), ANY),
    Operator("expand", "view", "x.expand([2] + list(x.shape))", ("expand_as", "broadcast_to"), (), ANY),
    Operator("split", "view", "x.split(2)[0]", ("chunk", "split_with_sizes", "unbind"), (), ANY, FROM_1),
    Operator("cat", "joining", "torch.cat([x, y])", ("concat",), _SAME, ANY, FROM_1),
    Operator("stack", "joining", "torch.stack([x, y])", (), _SAME, ANY),
    Operator("pad", "joining", "torch.nn.functional.pad(x, [1, 1])", ("constant_pad_nd",), (), REAL, FROM_1),
    Operator("flip", "joining", "x.flip(0)", (), (), ANY, FROM_1),
    Operator("roll", "joining", "torch.roll(x, 1)", (), (), ANY, FROM_1),
    Operator("repeat", "joining", "x.repeat([2] + [1] * (x.dim() - 1))", (), (), ANY, FROM_1),
    Operator("tril", "joining", "torch.tril(x)", ("triu",), (), REAL, FROM_2),
    Operator("clone", "copying", "x.clone()", ("contiguous",), (), ANY),
    Operator("to", "copying", "x.to(torch.float64)", ("_to_copy", "type", "float", "double", "half", "int", "long"), (),
             (*REAL, "bool")),
    Operator("add_", "in-place", "x.add_(1)", (), (), REAL, differentiable=False),
    Operator("mul_", "in-place", "x.mul_(2)", (), (), REAL, differentiable=False),
    Operator("copy_", "in-place", "x.copy_(y)", (), _SAME, ANY, differentiable=False),
    Operator("zero_", "in-place", "x.zero_()", (), (), ANY, differentiable=False),
    Operator("fill_", "in-place", "x.fill_(3)", (), (), REAL, differentiable=False),
    Operator("relu_", "in-place", "x.relu_()", (), (), FLOATS, differentiable=False),
    Operator("zeros_like", "factory", "torch.zeros_like(x)", ("zeros", "new_zeros"), (), ANY, differentiable=False),
    Operator("ones_like", "factory", "torch.ones_like(x)", ("ones", "new_ones"), (), ANY, differentiable=False),
    Operator("full_like", "factory", "torch.full_like(x, 2)", ("full", "new_full"), (), REAL, differentiable=False),
    Operator("arange", "factory", "torch.arange(x.numel())", (), (), ANY, differentiable=False),
)  # fmt: skip

FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(each.family for each in OPERATORS))


def meant_by(value: str) -> tuple[Operator, ...]:
    """The operators that a condition speaks of: a family, or one by its name."""
    found = tuple(each for each in OPERATORS if value in (each.family, each.name))
    if not found:
        raise LookupError(f"there is no operator and no family {value!r}")
    return found


def _spellings() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for each in OPERATORS:
        for name in each.names:
            # A name that several share (``getitem``) says which family only where these are of one.
            found.setdefault(name, set()).update((each.family, each.name))
    return {name: frozenset(values) for name, values in found.items()}


_SPELLINGS = _spellings()


def spoken_of(kernel: str) -> frozenset[str]:
    """The families and names under which a condition may speak of what PyTorch calls ``kernel``."""
    written = kernel.endswith("_") and not kernel.endswith("__")
    plain = kernel.strip("_") if kernel.startswith("__") else kernel
    found = (
        _SPELLINGS.get(kernel) or _SPELLINGS.get(plain) or _SPELLINGS.get(plain.removesuffix("_copy")) or frozenset()
    )
    if written:
        found = found | {"in-place"} | _SPELLINGS.get(kernel[:-1], frozenset())
    return found
