"""Core ML, a delegate of ExecuTorch: a model with a branch cannot be lowered.

The partitioner takes what is in and around the branch, and an assertion fails. The same program without a delegate is
right.
"""

import sys

import coremltools
import torch
from executorch.backends.apple.coreml.compiler import CoreMLBackend
from executorch.backends.apple.coreml.partition import CoreMLPartitioner
from executorch.exir import to_edge_transform_and_lower


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


specs = CoreMLBackend.generate_compile_specs(minimum_deployment_target=coremltools.target.iOS18)
for partitioner in (None, [CoreMLPartitioner(compile_specs=specs)]):
    exported = torch.export.export(Branch(), (torch.ones(3),))
    try:
        to_edge_transform_and_lower(exported, partitioner=partitioner)
    except Exception as error:
        how = "with Core ML" if partitioner else "without a delegate"
        sys.exit(f"expected a program, found {type(error).__name__}: {error} {how}")
