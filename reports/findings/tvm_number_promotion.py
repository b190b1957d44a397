"""tvm: a tensor of integers times 1.5 is a tensor of integers.

Expected: float32: a number of a higher category promotes the tensor (PyTorch, type promotion).
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return x * 1.5


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([1, 2]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
