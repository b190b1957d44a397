"""tvm: exp, sigmoid and the like of integers cannot be compiled.

Expected: float32.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return torch.exp(x)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([1, 2]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
