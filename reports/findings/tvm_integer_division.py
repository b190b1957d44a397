"""tvm: the quotient of two tensors of integers is one of integers.

Expected: a tensor of floats: torch.div is true division where no rounding_mode is given.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, y):
    return x / y


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([-7, 7, -8]), torch.tensor([2, 2, 3]))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
