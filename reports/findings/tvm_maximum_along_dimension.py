"""tvm: the values of max(dim) are the input itself.

Expected: the maxima of the rows.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return x.max(1).values


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([[1.0, 3.0], [4.0, 2.0]]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
