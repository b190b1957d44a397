"""openvino: what is written in place to a slice of an intermediate result is lost."""

import sys

import torch


def model(x, y):
    z = x - y
    z[1:].add_(1)
    return z * 2 - y


arguments = torch.ones(3) * 5, torch.ones(3)
expected = model(*arguments)
for backend in ("eager", "aot_eager", "openvino"):
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found.tolist()}; without torch.compile {expected.tolist()}")
sys.exit(not torch.equal(found, expected))
