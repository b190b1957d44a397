"""Apache TVM's backend of ``torch.compile``: what ``tvm.relax.frontend.torch.relax_dynamo`` makes."""

from __future__ import annotations

from conformance import DynamoBackend, Features, features

#: TVM's documentation has no list of what its importer takes; these it refuses by name when it reads a graph
#: (``tvm/relax/frontend/torch/base_fx_graph_translator.py``), which is all that an author could say of them.
_NO_CONVERTER = "the importer has no converter: 'Unsupported function types'"


class Relax(DynamoBackend):
    """``torch.compile(model, backend=relax_dynamo())``, with the default pipeline, under a name."""

    name = "relax"
    runtime = ("tvm",)
    features = (
        Features.all()
        .without(features.complex_numbers, "the importer: 'input_type torch.complex64 is not handled yet'")
        .without(features.control_flow, _NO_CONVERTER)
        .without(features.random_numbers, _NO_CONVERTER)
        .without(features.custom_operators, _NO_CONVERTER)
        .without(features.packages, "compiled code is a plain function, which PyTorch cannot save")
    )

    def load(self) -> None:
        """Register the backend: TVM has a function that makes one, and no name for it."""
        import torch._dynamo
        from tvm.relax.frontend.torch import relax_dynamo

        torch._dynamo.register_backend(relax_dynamo(), name=self.name)
        super().load()
