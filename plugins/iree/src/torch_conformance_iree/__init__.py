"""IREE's backend of ``torch.compile`` for the CPU, which the package iree-turbine registers as ``turbine_cpu``."""

from __future__ import annotations

from conformance import DynamoBackend, Features, features


class TurbineCPU(DynamoBackend):
    """The entry point of iree-turbine, as it is."""

    name = "turbine_cpu"
    runtime = ("iree.compiler", "iree.runtime")
    features = (
        Features.all()
        .without(
            features.dynamic_shapes,
            "iree-turbine's README: 'Dynamic shape support [...] is a work in progress, and not everything works'",
        )
        .without(features.packages, "compiled code is a plain function, which PyTorch cannot save")
    )
