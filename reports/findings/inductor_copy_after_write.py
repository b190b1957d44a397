"""Inductor: a buffer that keeps an argument keeps what a later write makes of that argument (pytorch/pytorch#198131).

Expected: the values of the argument when it was copied, as eager PyTorch and AOT Autograd keep them.
"""

import sys

import torch


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3))

    def forward(self, x):
        result = x + 1
        self.kept.copy_(x)
        x[1:].mul_(2)
        return result


for backend in ("eager", "aot_eager", "inductor"):
    model = Keeps()
    with torch.no_grad():
        torch.compile(model, backend=backend)(torch.ones(3))
    print(
        f"{backend}: of an argument of ones, doubled behind its first element after that, {model.kept.tolist()} is kept"
    )
sys.exit(model.kept.tolist() != [1, 1, 1])
