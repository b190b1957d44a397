"""Inductor: an argument to which zeros are added is returned itself (pytorch/pytorch#197893).

Expected: a new tensor, as in eager PyTorch and with AOT Autograd: who writes to the result writes to nothing else.
"""

import sys

import torch


def model(x):
    return x + torch.zeros_like(x)


for backend in ("eager", "aot_eager", "inductor"):
    x = torch.ones(3)
    torch.compile(model, backend=backend)(x).mul_(5)
    print(f"{backend}: after the result was multiplied, the argument is {x.tolist()}")
sys.exit(x.tolist() != [1, 1, 1])
