"""openvino: what a model writes to its input, or to a buffer, is written back in part."""

import sys

import torch


def model(x, y):
    x.sub_(y).mul_(2)
    return x * 3 - y


expected = torch.full((3,), 5.0)
model(expected, torch.ones(3))
for backend in ("eager", "aot_eager", "openvino"):
    x = torch.full((3,), 5.0)
    torch.compile(model, backend=backend)(x, torch.ones(3))
    print(f"{backend}: the input is {x.tolist()} afterwards; without torch.compile {expected.tolist()}")
sys.exit(not torch.equal(x, expected))
