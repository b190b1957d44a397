"""OpenVINO's backend of ``torch.compile``, as its documentation offers it: without and with AOT Autograd.

``pytest --backend=openvino`` needs no class. These say what the documentation says, and no more: what the backend
accepts and computes otherwise than PyTorch is a failure, whether or not some page of its vendor's mentions it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from conformance import DynamoBackend, Features, features

#: A processor with AVX512_BF16 or AMX computes float32 in bfloat16 unless it is asked not to ("CPU device", floating
#: point data types): with it, the contract's tolerances for float32 hold everywhere.
PRECISE: dict[str, Any] = {"config": {"INFERENCE_PRECISION_HINT": "f32"}}


#: The documentation says nothing of ``aot_compile``; PyTorch saves no function that is not a SerializableCallable.
NO_PACKAGES = "compiled code is a plain function, which PyTorch cannot save"


class OpenVINO(DynamoBackend):
    """The default: the graph is captured without AOT Autograd."""

    name = "openvino"
    options = MappingProxyType(PRECISE)
    features = (
        Features.all()
        .without(features.training, "the documentation of torch.compile: 'aot_autograd' is needed to finetune models")
        .without(features.packages, NO_PACKAGES)
    )


class OpenVINOWithAOTAutograd(DynamoBackend):
    """With the option that the documentation recommends for dynamic shapes and for training."""

    name = "openvino"
    options = MappingProxyType({"aot_autograd": True, **PRECISE})
    features = Features.all().without(features.packages, NO_PACKAGES)
