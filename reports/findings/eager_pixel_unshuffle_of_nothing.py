"""Eager PyTorch: `F.pixel_unshuffle` of no elements gives, on a CPU, the sizes that it was given.

It documents `C * r * r` channels of `H / r` rows and `W / r` columns, which is what the meta kernel gives, and those of
other devices. pytorch/pytorch#192816 proposes a mend."""

import sys

import torch
import torch.nn.functional as F

x = torch.zeros(1, 2, 4, 0)
found, expected = F.pixel_unshuffle(x, 2).shape, F.pixel_unshuffle(x.to("meta"), 2).shape
if found != expected:
    sys.exit(f"expected {list(expected)}, as the meta kernel gives, found {list(found)}")
