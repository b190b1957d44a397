"""Inductor: a softmax along the columns makes attention along the rows (see pytorch/pytorch#196468).

Expected: what eager PyTorch and AOT Autograd give. The pass that looks for attention does not compare the dimension of
the softmax.
"""

import sys

import torch


def model(query, key, value):
    return torch.softmax(query @ key.transpose(-1, -2) / 2.0, dim=-2) @ value


torch.manual_seed(0)
arguments = [torch.randn(1, 3, 4, 3) for _ in "qkv"]
expected = model(*arguments)
for backend in ("eager", "aot_eager", "inductor"):
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: off by {(found - expected).abs().max():.3g} at most")
sys.exit(not torch.allclose(found, expected, atol=1e-3))
