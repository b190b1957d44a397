"""XNNPACK, a delegate of ExecuTorch: denormal numbers are zero, in whatever is computed.

PyTorch keeps them unless `torch.set_flush_denormal(True)` is called, and so do ExecuTorch's own kernels, which compute
the same program here. What is asked afterwards whether it is zero comes out otherwise.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Limited(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, -100, 100), torch.relu(x), x * 1


inputs = (torch.full((4,), 1e-39),)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(Limited(), inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    found = [each[0].item() for each in program.load_method("forward").execute(inputs)]
    if 0.0 in found:
        sys.exit(f"expected 1e-39 of each, found {found} {'by XNNPACK' if partitioner else 'without a delegate'}")
