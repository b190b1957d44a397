"""Inductor: torch.index_select takes an index below zero for one that counts from the end (see pytorch/pytorch#151918).

Expected: an IndexError, as in eager PyTorch and with AOT Autograd.
"""

import sys

import torch


def model(x, index):
    return torch.index_select(x, 0, index)


for backend in ("eager", "aot_eager", "inductor"):
    try:
        found = torch.compile(model, backend=backend)(torch.arange(3.0), torch.tensor([0, -1]))
        print(f"{backend}: gives {found.tolist()}")
    except IndexError as error:
        found = None
        print(f"{backend}: raises IndexError: {error}")
sys.exit(found is not None)
