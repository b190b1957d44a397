"""XNNPACK, a delegate of ExecuTorch: gelu is the exact one, also where the model asks for its tanh approximation.

The same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Gelu(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")


inputs = (torch.linspace(-4, 4, 33),)
expected = Gelu()(*inputs)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(Gelu(), inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute(inputs)
    if not torch.allclose(found, expected, rtol=1e-5, atol=1e-5):
        by = "by XNNPACK" if partitioner else "without a delegate"
        off = (found - expected).abs().max().item()
        exact = (found - torch.nn.functional.gelu(*inputs)).abs().max().item()
        sys.exit(f"{by}: off by {off:.1e} at most, and from the exact function by {exact:.1e}")
