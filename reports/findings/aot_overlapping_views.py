"""AOT Autograd: code that was compiled for separate arguments runs for overlapping views (pytorch/pytorch#139789)."""

import sys

import torch


def model(x, y):
    x[1:3, ::2] = y[:2, 1:] - 1
    return torch.relu(x) - y.sum()


def overlapping():
    memory = torch.arange(15.0).reshape(5, 3)
    return memory[:-1], memory[1:]


expected = model(*overlapping())
for backend in ("eager", "aot_eager"):
    compiled = torch.compile(model, backend=backend)
    compiled(torch.ones(4, 3), torch.ones(4, 3))
    found = compiled(*overlapping())
    print(f"{backend}: off by at most {(found - expected).abs().max().item():g}")
sys.exit(not torch.equal(found, expected))
