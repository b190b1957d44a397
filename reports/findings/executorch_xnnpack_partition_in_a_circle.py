"""XNNPACK, a delegate of ExecuTorch: its partitioner proposes a part that needs its own result, and lowering fails.

A convolution is given what a view gives, which the partitioner leaves, and a row of its weight is used as well.
Without a delegate the model is lowered, and right.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Rows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(1, 1, 2, 2))

    def forward(self, x):
        image = x.reshape(1, 1, 2, -1)
        return torch.nn.functional.conv2d(image, self.weight), self.weight.reshape(2, 2)[0] * 2


model, inputs = Rows().eval(), (torch.randn(1, 1, 4, 4),)
expected = model(*inputs)
for partitioner in (None, [XnnpackPartitioner()]):
    try:
        lowered = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=partitioner)
    except AssertionError as error:
        sys.exit(f"{'with XNNPACK' if partitioner else 'without a delegate'} lowering fails: {error}")
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    found = program.load_method("forward").execute(inputs)
    assert all(map(torch.allclose, found, expected))
