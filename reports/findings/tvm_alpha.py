"""tvm: the argument alpha of torch.add and torch.sub is ignored.

Expected: input + alpha * other, as the documentation of torch.add says.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, y):
    return torch.add(x, y, alpha=2)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(3), torch.ones(3))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
