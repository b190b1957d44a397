"""Inductor: parts of a slice that are joined again have the strides of the tensor that was sliced.

Expected: a contiguous result, which torch.cat gives in eager PyTorch and with AOT Autograd; .view(-1) works on it.
"""

import sys

import torch


def model(x, weight):
    left = torch.chunk(torch.nn.functional.linear(x, weight), 2, dim=1)[0]
    first, second = torch.split(left[1:], [1, 3], dim=-2)
    return torch.cat([first, second], dim=-2)


torch.manual_seed(0)
for backend in ("eager", "aot_eager", "inductor"):
    with torch.no_grad():
        found = torch.compile(model, backend=backend)(torch.randn(5, 9), torch.randn(17, 9))
    print(f"{backend}: sizes {list(found.shape)}, strides {list(found.stride())}")
sys.exit(not found.is_contiguous())
