"""The operators that most models are made of, and most compilers have code of their own for. Imports no torch."""

from __future__ import annotations

_NAMES = {
    "pointwise": (
        "abs add ceil clamp cos div.floor_rounding div.no_rounding_mode div.trunc_rounding eq erf exp floor "
        "floor_divide ge gt isnan le log logical_and logical_not logical_or lt maximum minimum mul ne neg pow "
        "remainder round rsqrt sigmoid sign sin sqrt sub tanh where"
    ),
    "reductions": (
        "all amax amin any argmax argsort cummax cumsum logsumexp max.reduction_with_dim mean "
        "min.reduction_with_dim prod sort std sum topk var var_mean"
    ),
    "linear-algebra": ("addmm addmm.decomposed baddbmm bmm einsum linalg.vector_norm matmul mm norm outer"),
    "shapes": (
        "cat chunk clone diagonal expand expand_as flatten flip full_like narrow permute repeat reshape roll "
        "select slice split split.list_args squeeze stack t tile transpose unbind unsqueeze view"
    ),
    "indexing": (
        "__getitem__ bucketize gather index_add index_copy index_fill index_put index_select masked_fill "
        "masked_scatter nonzero repeat_interleave scatter scatter_add scatter_reduce.amax take_along_dim tril "
        "triu"
    ),
    "networks": (
        "log_softmax nn.GRU nn.GRUCell nn.LSTM nn.LSTMCell nn.MultiheadAttention nn.TransformerEncoderLayer "
        "nn.functional.adaptive_avg_pool2d nn.functional.avg_pool2d nn.functional.batch_norm "
        "nn.functional.binary_cross_entropy_with_logits nn.functional.conv1d nn.functional.conv2d "
        "nn.functional.conv_transpose2d nn.functional.cross_entropy nn.functional.elu nn.functional.embedding "
        "nn.functional.gelu nn.functional.glu nn.functional.grid_sample nn.functional.group_norm "
        "nn.functional.hardswish nn.functional.hardtanh nn.functional.instance_norm "
        "nn.functional.interpolate.bilinear nn.functional.interpolate.nearest nn.functional.layer_norm "
        "nn.functional.leaky_relu nn.functional.linear nn.functional.max_pool2d nn.functional.mse_loss "
        "nn.functional.nll_loss nn.functional.one_hot nn.functional.pad.constant nn.functional.pad.reflect "
        "nn.functional.pixel_shuffle nn.functional.prelu nn.functional.relu nn.functional.rms_norm "
        "nn.functional.scaled_dot_product_attention nn.functional.silu nn.functional.softplus "
        "nn.functional.unfold softmax"
    ),
}
COMMON = frozenset(name for names in _NAMES.values() for name in names.split())
