"""tvm: float32 times a float64 tensor with no dimensions is float64.

Expected: float32: a tensor with no dimensions promotes no other of its category.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, y):
    return x * y


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(3), torch.tensor(2.0, dtype=torch.float64))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
