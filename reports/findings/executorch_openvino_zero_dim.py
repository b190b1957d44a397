"""OpenVINO, a delegate of ExecuTorch: a tensor without dimensions cannot be computed.

The program lowers and loads, and each call fails with error 0x1.
The same program without a delegate, by ExecuTorch's own kernels, is right.
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


inputs = torch.tensor(1.0), torch.tensor(2.0)
expected = Sum()(*inputs)
print(f"eager: {expected.tolist()}")
for partitioner in (None, [OpenvinoPartitioner([CompileSpec("device", b"CPU")])]):
    lowered = to_edge_transform_and_lower(torch.export.export(Sum(), inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute(inputs)
    if not torch.equal(found, expected):
        sys.exit(f"expected {expected}, found {found} {'by OpenVINO' if partitioner else 'without a delegate'}")
