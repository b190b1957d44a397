"""Inductor: keys of which other sides change places are taken for transposed ones (see pytorch/pytorch#195320).

Expected: what eager PyTorch and AOT Autograd give. The pass that looks for attention does not compare the order of the
dimensions where the batch is one, and computes attention with other keys.
"""

import sys

import torch


def model(query, key, value):
    return torch.softmax(query @ key.permute(0, 3, 1, 2) / 2.0, dim=-1) @ value


torch.manual_seed(0)
arguments = [torch.randn(1, 3, 4, 3) for _ in "qkv"]
expected = model(*arguments)
for backend in ("eager", "aot_eager", "inductor"):
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: off by {(found - expected).abs().max():.3g} at most")
sys.exit(not torch.allclose(found, expected, atol=1e-3))
