"""Inductor: an empty tensor that others are joined with decides no dtype (beside pytorch/pytorch#152995).

Expected: float64, as in eager PyTorch and with AOT Autograd, which promote to the dtype of the empty one too; Inductor
leaves it out before it promotes, unless a single tensor remains.
"""

import sys

import torch


def model(x):
    return torch.cat([x, torch.zeros(0, dtype=torch.float64), x])


for backend in ("eager", "aot_eager", "inductor"):
    result = torch.compile(model, backend=backend)(torch.tensor([1, 2], dtype=torch.int8))
    print(f"{backend}: {result.tolist()}, {result.dtype}")
sys.exit(result.dtype != torch.float64)
