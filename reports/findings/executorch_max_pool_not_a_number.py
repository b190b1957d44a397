"""ExecuTorch's own kernels: the maximum of a window that holds NaN is not NaN.

Where NaN is the first of its window the result is right; PyTorch carries it from every place.
"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Pooled(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.max_pool2d(x, 2)


inputs = (torch.tensor([[[[1.0, 2.0], [3.0, float("nan")]]]]),)
expected = Pooled()(*inputs)
lowered = to_edge_transform_and_lower(torch.export.export(Pooled(), inputs))
program = Runtime.get().load_program(lowered.to_executorch().buffer)
(found,) = program.load_method("forward").execute(inputs)
if not torch.allclose(found, expected, equal_nan=True):
    sys.exit(f"expected {expected}, found {found}")
