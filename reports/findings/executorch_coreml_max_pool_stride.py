"""Core ML, a delegate of ExecuTorch: max pooling that has no stride of its own cannot be lowered.

Windows that do not overlap are what `max_pool2d(x, 3)` has, and its stride is left out of the program. The partitioner
takes the operator, and coremltools wants a third argument. With the stride written out it is lowered, and without a
delegate both are.

Expected: a program: the stride is the size of the window. What it cannot do a partitioner should leave.
"""

import sys

import coremltools
import torch
from executorch.backends.apple.coreml.compiler import CoreMLBackend
from executorch.backends.apple.coreml.partition import CoreMLPartitioner
from executorch.exir import to_edge_transform_and_lower


class Pool(torch.nn.Module):
    def __init__(self, *stride):
        super().__init__()
        self.stride = stride

    def forward(self, x):
        return torch.nn.functional.max_pool2d(x, 3, *self.stride)


specs = CoreMLBackend.generate_compile_specs(minimum_deployment_target=coremltools.target.iOS18)
for partitioner, stride in ((None, ()), ([CoreMLPartitioner(compile_specs=specs)], (3,))):
    exported = torch.export.export(Pool(*stride), (torch.ones(1, 2, 6, 6),))
    to_edge_transform_and_lower(exported, partitioner=partitioner)
try:
    exported = torch.export.export(Pool(), (torch.ones(1, 2, 6, 6),))
    to_edge_transform_and_lower(exported, partitioner=[CoreMLPartitioner(compile_specs=specs)])
except Exception as error:
    sys.exit(f"expected a program, as with a stride of 3, found {type(error).__name__}: {error}")
