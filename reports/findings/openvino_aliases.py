"""openvino with aot_autograd: two results that are one memory in PyTorch are two."""

import sys

import torch


def model(x, y):
    z = torch.relu(x - y) * 2
    return z, z.t()


for backend, options in (("eager", None), ("aot_eager", None), ("openvino", {"aot_autograd": True})):
    first, second = torch.compile(model, backend=backend, options=options)(torch.ones(4, 3), torch.zeros(4, 3))
    first.add_(1)
    print(f"{backend}: after 1 was added to the first result, the second is {second[0, 0].item():g}; expected 3")
sys.exit(second[0, 0].item() != 3)
