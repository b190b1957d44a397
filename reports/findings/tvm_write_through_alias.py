"""tvm: what is written in place is not seen through another name of the tensor.

Expected: both names are one tensor.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    first = x * 1
    second = first
    first += 1
    return second


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(3),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
