"""ExecuTorch's own kernels: ten operators give wrong values for a tensor that lies in memory with its channels last.

Nothing is raised. Some dozens of others refuse such a tensor, with error 0x12. Both are mended after 1.5.1 for some of
them (pytorch/executorch#21828, #21865, #21866).
"""

import sys

import torch
import torch.nn.functional as F
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

zeros = torch.zeros(1, 1, 3, 3, dtype=torch.int64)
operators = {
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "cat": lambda x: torch.cat([x, x], 1),
    "gather": lambda x: x.gather(1, zeros),
    "scatter": lambda x: x.scatter(1, zeros, 5.0),
    "slice_scatter": lambda x: x.slice_scatter(torch.zeros(1, 1, 3, 3), 1, 1, 2),
    "flip": lambda x: x.flip(1),
    "pad": lambda x: F.pad(x, (1, 1)),
    "topk": lambda x: x.topk(2, 1)[0],
    "layer_norm": lambda x: F.layer_norm(x, (3, 3)),
    "log_softmax": lambda x: x.log_softmax(1),
}


class Model(torch.nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x)


def agrees(operator, x):
    lowered = to_edge_transform_and_lower(torch.export.export(Model(operator), (x,), strict=True))
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    return torch.allclose(program.load_method("forward").execute((x,))[0], operator(x))


x = torch.arange(36.0).reshape(1, 4, 3, 3)
last = x.to(memory_format=torch.channels_last)
wrong = [name for name, operator in operators.items() if agrees(operator, x) and not agrees(operator, last)]
if wrong:
    sys.exit(f"right for contiguous tensors, wrong where channels are last: {', '.join(wrong)}")
