"""Eager PyTorch: a circular pad that crops all there is and wraps around on the other side gives memory nobody wrote.

The crop leaves nothing to be wrapped around, and the result is made with ``empty``.
"""

import sys

import torch
import torch.nn.functional as F

x = torch.ones(2, 1)
for _ in range(100):
    junk = torch.full((2, 1), 7.25)  # what lies where the result will
    del junk
    found = F.pad(x, (-1, 1), mode="circular")
    if not torch.equal(found, x):
        sys.exit(f"expected an error, or the only element that there is; found {found.tolist()}")
