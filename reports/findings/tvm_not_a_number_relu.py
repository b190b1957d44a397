"""tvm: relu gives 0 for NaN.

Expected: NaN, as eager PyTorch has it.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return torch.relu(x)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([float("nan"), -1.0, 1.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
