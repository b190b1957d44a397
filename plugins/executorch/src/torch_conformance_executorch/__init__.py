"""Delegates of ExecuTorch's own wheel, with the partitioners that its documentation names.

They say what the documentation says, and no more: what a partitioner takes and a delegate computes otherwise than
PyTorch is a failure, whether or not some page mentions it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance import ExecuTorchBackend

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase


class Xnnpack(ExecuTorchBackend):
    """XNNPACK, on the CPU. The runtime of the wheel has it: there is nothing to be loaded."""

    name = "XnnpackBackend"

    def partitioner(self, case: LoweredCase) -> Any:
        """The partitioner of the documentation, without options."""
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        return XnnpackPartitioner()

    def quantizer(self, case: LoweredCase) -> Any:
        """The quantizer of the documentation, with a scale for each channel of the weights."""
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
            XNNPACKQuantizer,
            get_symmetric_quantization_config,
        )

        return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
