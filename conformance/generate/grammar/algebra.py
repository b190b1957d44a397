"""Statements of linear algebra, and of Fourier's transforms."""

from __future__ import annotations

from conformance.generate.grammar.builder import Abandoned, Builder, Value
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec

#: So many rows at most make a matrix, whose eigenvalues so lie between 1 and one more than its rows have values.
_ROWS = 3
#: So long a row is at most.
_LONGEST = 33


def _of_short_rows(b: Builder, *dtypes: str, least: int = 1) -> Value:
    """A value of one of these dtypes whose rows have ``least`` elements, and not many."""
    return b.pick(
        lambda value: (
            value.dtype_name in dtypes
            and value.rank >= 1
            and least <= value.shape[-1] <= _LONGEST
            and 0 not in value.shape
        )
    )


def _rows(b: Builder) -> Value:
    """Rows of values within one of zero: nothing that is undefined, or beyond what a decomposition can be told from."""
    one = _of_short_rows(b, "float32", "float64")
    flat = f"torch.nan_to_num({one}).reshape(-1, {one}.shape[-1])[:{_ROWS}]"
    return b.make("tanh", f"torch.tanh({flat})")[0]


@rule("matrices", "matmul", "reductions", "elementwise", "mixed_dtypes", weight=2, operators=6)
def of_a_covariance(b: Builder) -> None:
    """A matrix as processes and filters have them, which is positive; or, where no value is, nothing but zeros, from
    which an inverse cannot be computed: PyTorch raises."""
    rows = _rows(b)
    matrix = f"({rows} @ {rows}.t() + torch.eye({rows}.shape[0], dtype={rows}.dtype))"
    or_zeros = b.draw.of(matrix, f"({matrix} * ({rows} > 0).any())")
    name, text = b.draw.of(
        ("linalg_cholesky", f"torch.linalg.cholesky({or_zeros})"),
        ("linalg_inv", f"torch.linalg.inv({or_zeros})"),
        ("linalg_solve", f"torch.linalg.solve({or_zeros}, {rows})"),
        ("linalg_det", f"torch.linalg.det({matrix})"),
        ("logdet", f"torch.logdet({matrix})"),
        ("linalg_solve_triangular", f"torch.linalg.solve_triangular(torch.tril({matrix}), {rows}, upper=False)"),
        ("linalg_matrix_power", f"torch.linalg.matrix_power({matrix}, {b.draw.of(2, 3, 0)})"),
    )
    b.make(name, text)


@rule("matrices", "complex_numbers", "reductions", "elementwise", "parameters", weight=2, operators=4)
def filtered(b: Builder) -> None:
    """A filter of frequencies: for half of them, as real values need, or for all, where nothing says that they belong
    together."""
    one = _of_short_rows(b, "float32", least=2)
    size = one.shape[-1]
    half = b.draw.chance(2)
    count = size // 2 + 1 if half else size
    weight = b.parameter(TensorSpec("float32", (count, 2), "contiguous", "ordinary", b.draw.seed()))
    weights = f"torch.view_as_complex({weight})"
    norm = b.draw.of("", "", ", norm='ortho'")
    if half:
        b.make("fft_irfft", f"torch.fft.irfft(torch.fft.rfft({one}{norm}) * {weights}, n={size}{norm})")
    else:
        b.make("fft_ifft", f"torch.fft.ifft(torch.fft.fft({one}{norm}) * {weights}{norm}).{b.draw.of('real', 'imag')}")


@rule("matrices", "complex_numbers", "elementwise", operators=2)
def conjugated(b: Builder) -> None:
    """PyTorch notes that a value is the conjugate of what is in memory, or the negative, and copies nothing."""
    one = _of_short_rows(b, "float32", least=2)
    (whole,) = b.make("fft_rfft", f"torch.fft.rfft({one})")
    b.make("conj", b.draw.of(f"{whole}.conj()", f"{whole}.conj().imag", f"{whole}.conj() * {whole}"))


@rule("matrices", "complex_numbers", "reductions", "elementwise", weight=3, operators=3)
def products_added_up(b: Builder) -> None:
    """Some products of complex numbers take the conjugate of the first, and a sum of products takes none."""
    one = _of_short_rows(b, "float32", least=2)
    (whole,) = b.make("fft_rfft", f"torch.fft.rfft({one})")
    other = f"{whole}.flip(-1)"
    name, text = b.draw.of(
        ("sum", f"({whole} * {other}).sum(-1)"),
        ("sum", f"({other} * {whole}.conj()).sum(-1)"),
        ("linalg_vecdot", f"torch.linalg.vecdot({whole}, {other})"),
        ("vdot", f"torch.vdot({whole}.flatten(), {other}.flatten())"),
    )
    b.make(name, text)


@rule("matrices", "complex_numbers", "booleans", "mixed_dtypes", "elementwise", weight=2, operators=3)
def magnitude(b: Builder) -> None:
    """How large complex numbers are that may be zero, as those of silence and of padding are."""
    one = _of_short_rows(b, "float32", least=2)
    quiet = f"({one} * ({one} > {b.draw.of('0.0', '9.0')}))"
    name, text = b.draw.of(
        ("abs", f"torch.complex({quiet}, {quiet} * 2.0).abs()"),
        ("abs", f"torch.fft.rfft({quiet}).abs()"),
        ("sgn", f"torch.sgn(torch.complex({quiet}, {quiet})).real"),
    )
    b.make(name, text)


@rule("matrices", "matmul", "elementwise", "broadcasting", weight=2, operators=1)
def attention_beyond_a_block(b: Builder) -> None:
    """More keys than are looked at together, of which the first or the last are hidden, as in a batch of sentences that
    are padded."""
    one = b.float_value(least=2)
    if 0 in one.shape or one.shape[-1] > _LONGEST:
        raise Abandoned
    batch = f"{one}.reshape(1, -1, {one}.shape[-1])[:, :2]"
    count = b.draw.of(40, 72, 136)
    scale = f"torch.linspace(-1.0, 1.0, {count}, dtype={one}.dtype).unsqueeze(-1)"
    (keys,) = b.make("mul", f"{batch}[:, :1] * {scale}")
    mask = b.draw.of(
        "", f", attn_mask=torch.arange({count}) >= {count - 3}", f", attn_mask=torch.arange({count}) < 3",
        f", attn_mask=torch.arange({count}) % 33 == 1",
    )  # fmt: skip
    b.make("scaled_dot_product_attention", f"F.scaled_dot_product_attention({batch}, {keys}, {keys}{mask})")


@rule("matrices", "matmul", "reductions", "booleans", "elementwise", weight=3, operators=1)
def attention_of_padded_rows(b: Builder) -> None:
    """Attention written out, with scores that are filled where nothing is to be seen: a row of which all are hidden
    looks at everything alike, where they are filled with a number."""
    one = b.pick(lambda value: value.dtype_name in ("float32", "float64") and value.rank in (2, 3, 4))
    if 0 in one.shape:
        raise Abandoned
    size = one.shape[-2]
    hidden = b.draw.of(
        f"({one}[..., :1] > {b.draw.of(0, -1, 9)}).transpose(-1, -2)", f"{one}[..., :1] > {b.draw.of(0, -1)}",
        f"torch.ones({size}, {size}, dtype=torch.bool).triu({b.draw.of(1, 0)})", f"torch.arange({size}) > 0",
    )  # fmt: skip
    number = b.draw.of("-1e9", "-10000.0", "-1e9", "float('-inf')" if "non_finite" not in b.missing else "-1e30")
    scaled = f"({one} @ {one}.transpose(-1, -2){b.draw.of(' / 2.0', ' * 0.5', '')})"
    scores = b.make("masked_fill", f"{scaled}.masked_fill({hidden}, {number})")[0]
    b.make("matmul", f"torch.softmax({scores}, dim=-1) @ {one}")


@rule("matrices", "matmul", weight=3, operators=1)
def weight_that_is_given(b: Builder) -> None:
    """A layer whose weight is an argument, as one that another network computes: it may change from call to call."""
    weight = b.pick(lambda value: value.origin == "argument" and value.floating and value.rank == 2)
    if 0 in weight.shape:
        raise Abandoned
    first, bias = b.draw.of((weight, ""), (f"{weight} * 0.5", ""), (f"{weight}[:1]", ""), (weight, f", {weight}[:, 0]"))
    b.make("linear", f"F.linear({first}, {weight}{bias})")
