"""XNNPACK, a delegate of ExecuTorch: a convolution's weight that something else uses as well lies otherwise there.

XNNPACK wants weights of convolutions with their channels last, and whoever else uses one gets it like that: with other
values in each place where all its sizes are the same, as here; where they are not, the call fails with error 0x10. The
same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(81.0).reshape(3, 3, 3, 3))

    def forward(self, x):
        return torch.nn.functional.conv2d(x, self.weight), self.weight * 2


model, inputs = Shared().eval(), (torch.ones(1, 3, 4, 4),)
expected = model(*inputs)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    found = program.load_method("forward").execute(inputs)
    for index in (0, 1):
        if not torch.allclose(found[index], expected[index]):
            seen, right = found[index].flatten()[:6].tolist(), expected[index].flatten()[:6].tolist()
            who = "by XNNPACK" if partitioner else "without a delegate"
            sys.exit(f"result {index} begins with {seen} {who}, where {right} is right")
