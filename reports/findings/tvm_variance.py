"""tvm: the variance is divided by n, and not by n - 1.

Expected: correction=1 is the default of torch.var.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return x.var()


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([3.0, 0.0, 2.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
