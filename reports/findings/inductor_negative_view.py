"""Inductor: the values of a tensor whose negative bit is set have the other sign.

Expected: what eager PyTorch and AOT Autograd give: such a tensor stands for the negative of what its memory has.
"""

import sys

import torch


def model(x):
    return x * 2


x = torch.complex(torch.zeros(3), -torch.ones(3)).conj().imag
assert x.is_neg()
for backend in ("eager", "aot_eager", "inductor"):
    found = torch.compile(model, backend=backend)(x)
    print(f"{backend}: twice {x.tolist()} is {found.tolist()}")
sys.exit(found.tolist() != [2, 2, 2])
