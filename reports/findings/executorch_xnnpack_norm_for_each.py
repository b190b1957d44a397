"""XNNPACK, a delegate of ExecuTorch: a convolution that is used twice has the norm of its first use in both.

Expected: each use with its own norm, as heads of detectors have it that share a convolution between the levels of a
pyramid. The pass that folds a batch norm into the convolution ahead of it does not ask whether another convolution
has the same weight. The same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Levels(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(1, 1, 1, bias=False)
        self.first, self.second = torch.nn.BatchNorm2d(1), torch.nn.BatchNorm2d(1)
        torch.nn.init.constant_(self.convolution.weight, 1.0)
        torch.nn.init.constant_(self.first.weight, 2.0)
        torch.nn.init.constant_(self.second.weight, 10.0)

    def forward(self, x, y):
        return self.first(self.convolution(x)), self.second(self.convolution(y))


model, inputs = Levels().eval(), (torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1))
expected = model(*inputs)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    found = program.load_method("forward").execute(inputs)
    for index in (0, 1):
        if not torch.allclose(found[index], expected[index], rtol=1e-4):
            seen, right = found[index].flatten()[0].item(), expected[index].flatten()[0].item()
            who = "by XNNPACK" if partitioner else "without a delegate"
            sys.exit(f"result {index} is {seen:.3f} {who}, where {right:.3f} is right")
