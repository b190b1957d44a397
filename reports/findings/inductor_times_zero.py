"""Inductor: infinity and NaN times the number 0 are 0.

Expected: NaN, as IEEE 754 has it, and as eager PyTorch and AOT Autograd give it.
"""

import sys

import torch


def model(x):
    return (x + 0.5) * 0 + x


for backend in ("eager", "aot_eager", "inductor"):
    found = torch.compile(model, backend=backend)(torch.tensor([float("inf"), 1.0]))
    print(f"{backend}: {found.tolist()}")
sys.exit(not found[0].isnan().item())
