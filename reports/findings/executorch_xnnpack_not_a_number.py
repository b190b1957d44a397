"""XNNPACK, a delegate of ExecuTorch: the maximum of NaN and a number is the number, where PyTorch's is NaN.

The same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Maximum(torch.nn.Module):
    def forward(self, x, y):
        return torch.maximum(x, y)


inputs = torch.tensor([float("nan"), 1.0, 2.0]), torch.tensor([0.0, float("nan"), 3.0])
expected = Maximum()(*inputs)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(Maximum(), inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute(inputs)
    if not torch.equal(found.isnan(), expected.isnan()):
        sys.exit(f"expected {expected}, found {found} {'by XNNPACK' if partitioner else 'without a delegate'}")
