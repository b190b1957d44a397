"""openvino without aot_autograd: results have no history where the arguments require grad, and nothing says so.

Expected: a history, or an error that says that training needs aot_autograd.
"""

import sys

import torch


def model(x, y):
    return torch.relu(x - y) * 2 - y


for backend in ("eager", "aot_eager", "openvino"):
    found = torch.compile(model, backend=backend)(torch.ones(3, requires_grad=True), torch.ones(3))
    print(f"{backend}: requires_grad is {found.requires_grad}")
sys.exit(not found.requires_grad)
