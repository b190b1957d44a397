"""Core ML, a delegate of ExecuTorch: a model whose input has its channels last cannot be lowered.

The partitioner takes the model, and preprocess raises NotImplementedError. The same program without a delegate is
right.
"""

import sys

import coremltools
import torch
from executorch.backends.apple.coreml.compiler import CoreMLBackend
from executorch.backends.apple.coreml.partition import CoreMLPartitioner
from executorch.exir import to_edge_transform_and_lower

specs = CoreMLBackend.generate_compile_specs(minimum_deployment_target=coremltools.target.iOS18)
for partitioner in (None, [CoreMLPartitioner(compile_specs=specs)]):
    exported = torch.export.export(torch.nn.ReLU(), (torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last),))
    try:
        to_edge_transform_and_lower(exported, partitioner=partitioner)
    except Exception as error:
        how = "with Core ML" if partitioner else "without a delegate"
        sys.exit(f"expected a program, found {type(error).__name__}: {error} {how}")
