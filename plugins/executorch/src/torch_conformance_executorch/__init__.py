"""Delegates of ExecuTorch's own wheel, with the partitioners that its documentation names.

They say what the documentation says, and no more: what a partitioner takes and a delegate computes otherwise than
PyTorch is a failure, whether or not some page mentions it. Those whose programs run on other machines alone are held
against the contract as far as lowering goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance import Environment, ExecuTorchBackend

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


class OpenVino(ExecuTorchBackend):
    """OpenVINO on its CPU, by the runtime that the wheel brings; it loads the libraries of the package ``openvino``."""

    name = "OpenvinoBackend"
    unavailable = Environment(OPENVINO_LIB_PATH="/nowhere/libopenvino_c.so")

    def partitioner(self, case: LoweredCase) -> Any:
        """The partitioner of the documentation, for the CPU."""
        from executorch.backends.openvino.partitioner import OpenvinoPartitioner
        from executorch.exir.backend.backend_details import CompileSpec

        return OpenvinoPartitioner([CompileSpec("device", b"CPU")])

    def quantizer(self, case: LoweredCase) -> Any:
        """The quantizer of the documentation, which NNCF is needed for."""
        from executorch.backends.openvino.quantizer import OpenVINOQuantizer

        return OpenVINOQuantizer()


class Vulkan(ExecuTorchBackend):
    """Vulkan, as far as lowering goes."""

    name = "VulkanBackend"
    only_lowers = "the run-time half of Vulkan is not in ExecuTorch's wheel: it is built for Android and from source"

    def partitioner(self, case: LoweredCase) -> Any:
        """The partitioner of the documentation, without options."""
        from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner

        return VulkanPartitioner()


class CoreMl(ExecuTorchBackend):
    """Core ML, as far as lowering goes."""

    name = "CoreMLBackend"
    only_lowers = "the run-time half of Core ML is for macOS and iOS"

    def partitioner(self, case: LoweredCase) -> Any:
        """The partitioner of the documentation, for iOS 18: without a target it makes programs for older systems, which
        have neither state nor float16 as an input."""
        import coremltools
        from executorch.backends.apple.coreml.compiler import CoreMLBackend
        from executorch.backends.apple.coreml.partition import CoreMLPartitioner

        target = coremltools.target.iOS18
        return CoreMLPartitioner(compile_specs=CoreMLBackend.generate_compile_specs(minimum_deployment_target=target))


class Tosa(ExecuTorchBackend):
    """TOSA of Arm in floating point, as far as lowering goes; ``tosa-tools`` writes its blobs."""

    name = "TOSABackend"
    only_lowers = "TOSA is a format: its blobs are for the compilers of Arm's devices, and no runtime takes them"

    def partitioner(self, case: LoweredCase) -> Any:
        """The partitioner of the documentation, for the floating-point profile."""
        from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
        from executorch.backends.arm.tosa.partitioner import TOSAPartitioner

        return TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))
