"""ExecuTorch: a convolution that a delegate has computes 15 images at most, whatever number it was exported for.

Exported for 2 to 40 images, and lowered without a delegate, it takes 31. With one, which XNNPACK stands for here,
`to_executorch` computes the sizes of the delegate's part once more, where PyTorch chooses a convolution's kernel by
whether there are fewer than 16 images, and takes the answer for a bound: memory is planned for 15.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

model, example = torch.nn.Conv2d(1, 3, 3).eval(), (torch.ones(7, 1, 9, 9),)
images = torch.export.Dim("images", min=2, max=40)
for partitioner in (None, [XnnpackPartitioner()]):
    exported = torch.export.export(model, example, dynamic_shapes=({0: images},))
    program = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch().buffer
    method = Runtime.get().load_program(program).load_method("forward")
    planned = method.metadata.input_tensor_meta(0).sizes()[0]
    if planned != 40:
        sys.exit(f"exported for 40 images, planned for {planned} {'with' if partitioner else 'without'} a delegate")
