"""Inductor: binary_cross_entropy of NaN gives NaN, where eager raises (see pytorch/pytorch#193757).

Expected: "all elements of input should be between 0 and 1", as in eager PyTorch and with AOT Autograd.
"""

import sys

import torch
import torch.nn.functional as F


def model(x):
    return F.binary_cross_entropy(x, torch.ones_like(x))


for backend in ("eager", "aot_eager", "inductor"):
    try:
        found = torch.compile(model, backend=backend)(torch.tensor([float("nan"), 0.5]))
    except RuntimeError as error:
        print(f"{backend}: raises: {error}")
    else:
        print(f"{backend}: gives {found.item()}")
        sys.exit(1)
