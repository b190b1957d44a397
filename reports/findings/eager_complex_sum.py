"""Eager PyTorch: the sum of two infinite complex numbers is NaN (see pytorch/pytorch#82510).

Expected: an infinite number, as the sum of the parts is, and as Python and ISO C have it. The kernel multiplies by
``alpha``, a complex 1, which makes NaN of an infinite part times 0.
"""

import math
import sys

import torch

x = complex(math.inf, math.inf)
found = (torch.tensor([x]) + torch.tensor([x])).item()
if math.isnan(found.real) and math.isnan(found.imag):
    sys.exit(f"expected {x + x}, as in Python; found {found}")
