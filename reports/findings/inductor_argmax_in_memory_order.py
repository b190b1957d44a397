"""Inductor: the place of the largest element is counted in the order of memory, where what is counted was computed of a
tensor whose channels are last.

Expected: torch.argmax without a dimension gives the place in the flattened tensor, as eager PyTorch and AOT Autograd
have it. Of the tensor itself, and of what is contiguous, it is right (pytorch/pytorch#193751).
"""

import sys

import torch


def model(x):
    return torch.relu(x).argmax()


torch.manual_seed(0)
x = torch.randn(1, 5, 4, 5).to(memory_format=torch.channels_last)
expected = model(x)
for backend in ("eager", "aot_eager", "inductor"):
    found = torch.compile(model, backend=backend)(x)
    print(f"{backend}: at {found.item()} is {x.flatten()[found]:.3f}, the largest is {x.max():.3f}")
sys.exit(not torch.equal(found, expected))
