"""torch.jit.freeze: a result that was folded into a constant is that constant, in each call the same memory.

Who changes such a result in place changes what all later calls compute. A compiler of another vendor was filed for the
same (pytorch/TensorRT#4466).
"""

import sys

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x):
        scale = self.weight * 2.0
        return scale, x + scale


model, x = Model().eval(), torch.zeros(2)
expected = model(x)[1].tolist()
frozen = torch.jit.freeze(torch.jit.script(model))
frozen(x)[0].add_(1.0)
found = frozen(x)[1].tolist()
if found != expected:
    sys.exit(f"expected {expected} whatever was done with the results of the call before, found {found}")
