"""ExecuTorch's own kernels: a sum of float64 has the precision of float32.

The sum of one element already is another number than the element.
"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Sum(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=-1)


inputs = (torch.tensor([[1 / 3], [2 / 3]], dtype=torch.float64),)
expected = Sum()(*inputs)
lowered = to_edge_transform_and_lower(torch.export.export(Sum(), inputs, strict=True))
program = Runtime.get().load_program(lowered.to_executorch().buffer)
found = program.load_method("forward").execute(inputs)[0]
if not torch.allclose(found, expected, rtol=1e-12, atol=0):
    sys.exit(f"expected {expected.tolist()}, found {found.tolist()}")
