"""Inductor: a part of what is computed of a transposed tensor has the strides of a contiguous one.

Expected: a column whose neighbours lie next to each other, as in eager PyTorch: `squeeze(-1)` has the strides (6, 1).
All of it, without `chunk`, lies as expected.
"""

import sys

import torch


class Last(torch.nn.Module):
    def forward(self, x):
        return torch.chunk(x * 2, 2, dim=-1)[1]


x = torch.arange(18.0).reshape(3, 3, 2).transpose(-1, -2)[..., :3]
found = {}
for backend in ("eager", "aot_eager", "inductor"):
    result = torch.compile(Last(), backend=backend)(x).squeeze(-1)
    found[backend] = result.stride()
    print(f"{backend}: sizes {tuple(result.shape)}, strides {result.stride()}")
sys.exit(found["inductor"] != found["eager"])
