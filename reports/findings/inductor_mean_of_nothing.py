"""Inductor: the mean that torch.var_mean and torch.std_mean give of no elements is 0.

Expected: NaN, as eager PyTorch and AOT Autograd give it, and as Inductor itself gives it for torch.mean.
"""

import sys

import torch


def model(x):
    return torch.var_mean(x)[1], torch.mean(x)


for backend in ("eager", "aot_eager", "inductor"):
    found, alone = torch.compile(model, backend=backend)(torch.zeros(0, 5))
    print(f"{backend}: {found.item()}, by torch.mean {alone.item()}")
sys.exit(not found.isnan().item())
