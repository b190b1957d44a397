"""TOSA, a delegate of ExecuTorch: a linear layer over a batch whose size may change cannot be lowered.

The partitioner takes it, and a pass of preprocess fails. The same program without a delegate is right.
"""

import sys

import torch
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import to_edge_transform_and_lower

rows = torch.export.Dim("rows", min=1, max=8)
for partitioner in (None, [TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))]):
    exported = torch.export.export(torch.nn.Linear(4, 3), (torch.ones(2, 4),), dynamic_shapes=({0: rows},))
    try:
        to_edge_transform_and_lower(exported, partitioner=partitioner)
    except Exception as error:
        sys.exit(f"expected a program, found {error} {'with TOSA' if partitioner else 'without a delegate'}")
