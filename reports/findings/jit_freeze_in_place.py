"""torch.jit.freeze: what a loop writes to becomes a constant, to which each call adds."""

import sys

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.tensor([1.0, 2.0]))

    def forward(self, x):
        first, second = x * 1.0, self.weight * 2.0
        for _ in range(2):
            first, second = second, first
            second.add_(1.0)
        return first + second


model, x = Model().eval(), torch.zeros(2)
expected = model(x)
frozen = torch.jit.freeze(torch.jit.script(model))
found = [frozen(x).tolist() for _ in range(3)]
if found != [expected.tolist()] * 3:
    sys.exit(f"expected {expected.tolist()} in each call, found {found}")
