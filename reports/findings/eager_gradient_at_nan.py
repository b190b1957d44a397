"""Eager PyTorch, on a CPU: the gradient of an activation at NaN depends on where the element stands.

Expected: one gradient for one value. Elements that are computed several in one instruction get another one (NaN for
elu, selu, celu and hardswish, 0 for hardtanh, relu6, hardshrink and softshrink) than those that are left over at the
end, or lie apart in memory, which get the gradient of a large number. PyTorch's decompositions, and so Inductor, have
the latter everywhere.
"""

import sys

import torch
from torch.nn import functional

ACTIVATIONS = ("elu", "selu", "celu", "hardswish", "hardtanh", "relu6", "hardshrink", "softshrink", "silu", "gelu")
torch.set_num_threads(1)
wrong = []
for name in ACTIVATIONS:
    x = torch.full((33,), float("nan"), requires_grad=True)
    getattr(functional, name)(x).sum().backward()
    found = [str(each) for each in x.grad.tolist()]
    print(f"{name}: the first of 33 has {found[0]}, the last {found[-1]}")
    if len(set(found)) > 1:
        wrong.append(name)
if wrong:
    sys.exit(f"the gradient of one value depends on the place in {', '.join(wrong)}")
