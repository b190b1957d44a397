"""AMD's zentorch, a backend of ``torch.compile`` that rewrites graphs for ZenDNN and lets Inductor compile them."""

from __future__ import annotations

from conformance import DynamoBackend


class ZenTorch(DynamoBackend):
    """As its documentation has it: ``import zentorch``, then ``torch.compile(model, backend="zentorch")``.

    Nothing is declared missing: its documentation speaks of inference, and says of nothing that it is not supported.
    """

    name = "zentorch"

    def load(self) -> None:
        """Importing the package registers the backend."""
        import zentorch  # noqa: F401

        super().load()
