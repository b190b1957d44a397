"""XNNPACK, a delegate of ExecuTorch: the exponential of NaN is 0.

The same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Exponential(torch.nn.Module):
    def forward(self, x):
        return torch.exp(x)


inputs = (torch.tensor([float("nan"), 1.0]),)
expected = Exponential()(*inputs)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(Exponential(), inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute(inputs)
    if not torch.allclose(found, expected, equal_nan=True):
        sys.exit(f"expected {expected}, found {found} {'by XNNPACK' if partitioner else 'without a delegate'}")
