"""What layers have now and then, and those of a delegate may lack: windows that hang over, buffers of the same numbers,
activations in place, rows that see nothing, and masks that are longer than their bytes count."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "rows_and_columns",
    f.parameters,
    f.broadcasting,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(4, 4),) for _ in "ab"]},
)
class RowsAndColumns(torch.nn.Module):
    """The same numbers as a row, as a column and, of the same bits, whole ones: three buffers, and none is another."""

    def __init__(self) -> None:
        super().__init__()
        numbers = torch.arange(4.0)
        self.register_buffer("row", numbers[None])
        self.register_buffer("column", numbers[:, None].clone())
        self.register_buffer("bits", numbers.view(torch.int32).clone())

    def forward(self, x: Tensor) -> Tensor:
        return x * (self.row - self.column) + self.bits % 7
