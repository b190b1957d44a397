"""XNNPACK, a delegate of ExecuTorch: bilinear interpolation by a factor samples at other places than eager PyTorch.

Where a size times its factor is no whole number (5 by 1.5 are 7), eager PyTorch goes by the factor that was given. The
delegate keeps the size of the output alone, and goes by the ratio of the two sizes. The same program without a
delegate, by ExecuTorch's own kernels, is right; and so is the delegate by a factor of two.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Enlarged(torch.nn.Module):
    """A picture, enlarged."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The picture, by the factor."""
        return torch.nn.functional.interpolate(x, scale_factor=self.factor, mode="bilinear", align_corners=False)


image = torch.arange(5.0).expand(1, 1, 5, 5).clone()
for factor, partitioner in ((1.5, None), (2.0, [XnnpackPartitioner()]), (1.5, [XnnpackPartitioner()])):
    model = Enlarged(factor).eval()
    expected = model(image)
    lowered = to_edge_transform_and_lower(torch.export.export(model, (image,)), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute((image,))
    if not torch.allclose(found, expected, atol=1e-5):
        who = "by XNNPACK" if partitioner else "without a delegate"
        first, other = ([round(value, 3) for value in each[0, 0, 0].tolist()] for each in (expected, found))
        sys.exit(f"by {factor}: expected rows {first}, found {other} {who}")
