"""tvm: a size that is dynamic cannot be multiplied with a tensor of floats.

Expected: x * 5.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return x * x.shape[0]


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(5),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend, dynamic=True)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
