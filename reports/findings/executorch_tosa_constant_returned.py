"""TOSA, a delegate of ExecuTorch: a model that also returns a constant as it is cannot be lowered.

The partitioner takes the constant for itself, which the result of the program needs as well. The same program without a
delegate is right.
"""

import sys

import torch
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import to_edge_transform_and_lower


class Returned(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("constant", torch.tensor([1.0, 2.0]))

    def forward(self, x):
        return x + self.constant, self.constant


for partitioner in (None, [TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))]):
    exported = torch.export.export(Returned(), (torch.ones(2),))
    try:
        to_edge_transform_and_lower(exported, partitioner=partitioner)
    except RuntimeError as error:
        sys.exit(f"expected a program, found {error} {'with TOSA' if partitioner else 'without a delegate'}")
