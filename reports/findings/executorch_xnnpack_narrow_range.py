"""XNNPACK, a delegate of ExecuTorch: a quantised range that is narrower than int8 is taken for that of int8.

``get_symmetric_quantization_config`` of its own quantizer takes such ranges. The same program without a delegate, by
ExecuTorch's own kernels, is right.
"""

import sys

import executorch.kernels.quantized  # noqa: F401
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

SCHEME = (0.125, 0, -64, 63, torch.int8)


class Stepped(torch.nn.Module):
    def steps(self, x):
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, *SCHEME)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(steps, *SCHEME)

    def forward(self, x):
        return self.steps(self.steps(x).abs())


inputs = (torch.tensor([-20.0, -1.0, 3.0, 20.0]),)
expected = Stepped()(*inputs)
for partitioner in (None, [XnnpackPartitioner()]):
    lowered = to_edge_transform_and_lower(torch.export.export(Stepped(), inputs), partitioner=partitioner)
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    (found,) = program.load_method("forward").execute(inputs)
    if not torch.equal(found, expected):
        sys.exit(f"expected {expected}, found {found} {'by XNNPACK' if partitioner else 'without a delegate'}")
