"""Inductor: a channels_last tensor that is joined with itself comes out contiguous, and not channels_last.

Expected: the strides that torch.cat gives in eager PyTorch and with AOT Autograd, as it does for two tensors. The
decomposition that Inductor has of torch.cat makes an expand of torch.cat([x, x]), and flattens that whatever the
strides are.
"""

import sys

import torch


def model(x):
    return torch.cat([x, x], dim=1)


torch.manual_seed(0)
x = torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last)
for backend in ("eager", "aot_eager", "inductor"):
    found = torch.compile(model, backend=backend)(x)
    print(f"{backend}: sizes {list(found.shape)}, strides {list(found.stride())}")
sys.exit(not found.is_contiguous(memory_format=torch.channels_last))
