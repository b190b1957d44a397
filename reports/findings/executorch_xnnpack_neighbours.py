"""XNNPACK, a delegate of ExecuTorch: a convolution of one channel, 1 by 1, is NaN at elements that no NaN belongs to.

The two elements before one that is NaN, or infinite, come out as NaN, as they would from a kernel of three taps, two of
them with a weight of zero. The same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

model = torch.nn.Conv2d(1, 1, 1).eval()
image = torch.ones(1, 1, 1, 8)
image[..., 5] = float("inf")
expected = model(image)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(model, (image,)), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute((image,))
    if not torch.allclose(found, expected):
        who = "by XNNPACK" if partitioner else "without a delegate"
        sys.exit(f"expected {expected.flatten().tolist()}, found {found.flatten().tolist()} {who}")
