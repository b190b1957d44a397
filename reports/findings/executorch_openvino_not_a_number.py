"""OpenVINO, a delegate of ExecuTorch: NaN is lost in maximum, in relu and in clamp.

PyTorch's documentation carries it. The same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.openvino.partitioner import OpenvinoPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.backend_details import CompileSpec
from executorch.runtime import Runtime


class Clamped(torch.nn.Module):
    def forward(self, x, y):
        return torch.maximum(x, y).relu().clamp(max=9.0)


inputs = torch.tensor([float("nan"), 1.0]), torch.tensor([0.0, 2.0])
expected = Clamped()(*inputs)
for partitioner in (None, [OpenvinoPartitioner([CompileSpec("device", b"CPU")])]):
    lowered = to_edge_transform_and_lower(torch.export.export(Clamped(), inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute(inputs)
    if not torch.equal(found.isnan(), expected.isnan()):
        sys.exit(f"expected {expected}, found {found} {'by OpenVINO' if partitioner else 'without a delegate'}")
