"""TorchScript: a number minus a tensor of bytes wraps around.

Expected: what eager PyTorch gives: -2.0 and -6.0, in float32. TorchScript writes `number - tensor` as
`neg(tensor) + number`, and the negative of a uint8 is 256 less it: 254.0 and 250.0. pytorch/pytorch#49336 tells of
it, and was closed in 2020; it is there still, or again.
"""

import sys

import torch


class Inverted(torch.nn.Module):
    def forward(self, x):
        return 1.0 - x


x = torch.tensor([3, 7], dtype=torch.uint8)
expected, found = Inverted()(x), torch.jit.script(Inverted())(x)
print(f"eager: {expected}; torch.rsub: {torch.rsub(x, 1.0)}")
print(f"scripted: {found}")
sys.exit(not torch.equal(expected, found))
