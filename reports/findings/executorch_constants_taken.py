"""ExecuTorch: lowering takes constants out of the program that it is given, where a delegate takes them.

What `torch.export` keeps outside of the state dict (buffers that are not persistent) is taken out of the very
dictionary of the program that was given; parameters and persistent buffers are not.

Expected: the program that was exported computes what it did, and can be lowered once more.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randn(4, 4), persistent=False)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


inputs = (torch.randn(2, 4),)
for partitioner in ([], [XnnpackPartitioner()]):
    exported = torch.export.export(Layer().eval(), inputs)
    to_edge_transform_and_lower(exported, partitioner=partitioner)
    print(f"{'XNNPACK' if partitioner else 'no delegate'}: constants are {list(exported.constants)}")
    try:
        exported.module()
    except KeyError as error:
        sys.exit(f"the exported program has no module any more: KeyError: {error}")
