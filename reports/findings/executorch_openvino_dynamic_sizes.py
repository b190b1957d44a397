"""OpenVINO, a delegate of ExecuTorch: where a size may change, a result has the largest size.

What the call did not compute is zeros. The same program without a delegate, by ExecuTorch's own kernels, is right.
"""

import sys

import torch
from executorch.backends.openvino.partitioner import OpenvinoPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.backend_details import CompileSpec
from executorch.runtime import Runtime


class Sum(torch.nn.Module):
    def forward(self, x, y):
        return x + y


example = torch.ones(4, 3), torch.ones(4, 3)
rows = torch.export.Dim("rows", min=1, max=8)
inputs = torch.ones(2, 3), torch.ones(2, 3)
expected = Sum()(*inputs)
for partitioner in (None, [OpenvinoPartitioner([CompileSpec("device", b"CPU")])]):
    exported = torch.export.export(Sum(), example, dynamic_shapes=({0: rows}, {0: rows}))
    lowered = to_edge_transform_and_lower(exported, partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute(inputs)
    if not torch.equal(found, expected):
        sys.exit(f"expected {expected}, found {found} {'by OpenVINO' if partitioner else 'without a delegate'}")
