"""Which family an operator belongs to: what the cells of ``operators.correct`` are about. Imports no torch."""

from __future__ import annotations

THEMES = ("pointwise", "reductions", "linear-algebra", "shapes", "indexing", "networks")

#: Beginnings of names, by theme: the first that fits.
_BEGINNINGS = {
    "networks": (
        "nn.",
        "native_",
        "_native_",
        "_batch_norm",
        "_softmax_backward",
        "_upsample",
        "max_pool2d_with",
        "grid_sampler",
        "torch.ops.aten._",
        "softmax",
        "log_softmax",
    ),
    "linear-algebra": ("linalg.", "fft.", "norm.", "sparse.", "torch._scaled", "svd", "lu", "cholesky", "addmm", "lu_"),
    "reductions": ("masked.", "max.reduction", "min.reduction", "unique", "hist", "std_mean", "var_mean"),
    "indexing": ("index_", "scatter", "_unsafe_masked", "_segment_reduce", "masked_"),
}
#: The classes of PyTorch's samples that say it themselves.
_KINDS = {
    "UnaryUfuncInfo": "pointwise",
    "BinaryUfuncInfo": "pointwise",
    "ReductionOpInfo": "reductions",
    "SpectralFuncInfo": "linear-algebra",
}
_NAMES = {
    "pointwise": "addcmul addcdiv clamp lerp where logaddexp2",
    "linear-algebra": "addmv addbmm baddbmm dot vdot bmm bmm.triton_optimized mv addr cdist corrcoef cov cross geqrf "
    "matrix_exp matmul mm dist outer ormqr pinverse qr __rmatmul__ triangular_solve einsum pca_lowrank renorm stft "
    "istft trace kron inner tensordot logdet norm block_diag",
    "reductions": "aminmax cumsum cumprod cummax cummin logcumsumexp diff equal allclose kthvalue median nanmedian "
    "mode quantile nanquantile topk sort argsort msort logsumexp trapz trapezoid cumulative_trapezoid bincount "
    "gradient",
    "indexing": "gather put take take_along_dim __getitem__ bucketize searchsorted nonzero nonzero_static argwhere "
    "isin repeat_interleave unravel_index select_scatter slice_scatter diagonal_scatter as_strided_scatter tril triu "
    "tril_indices triu_indices multinomial",
}
_THEME_OF = {name: theme for theme, names in _NAMES.items() for name in names.split()}


def theme_of(operator: str, kind: str) -> str:
    """The theme of an operator, by its name and the class of its samples; what fits nowhere else is about shapes."""
    if operator in _THEME_OF:
        return _THEME_OF[operator]
    for theme, beginnings in _BEGINNINGS.items():
        if operator.startswith(beginnings):
            return theme
    return _KINDS.get(kind, "shapes")
