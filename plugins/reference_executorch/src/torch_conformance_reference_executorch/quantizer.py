"""How models are quantised for the delegate."""

from __future__ import annotations

from typing import Any

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)


def reference_quantizer() -> Any:
    """Eight bits, with a scale for each channel of the weights. The delegate takes whatever ExecuTorch has kernels for,
    and so has no rules of its own."""
    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
