"""tvm: torch.where of integers and floats cannot be compiled: 'must have the same datatype'.

Expected: float32, as PyTorch promotes them.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, y):
    return torch.where(x > 0, x, y)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([1, -2]), torch.tensor([1.5, 1.5]))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
