"""tvm: where an argument requires grad the result has no history, and nothing says so.

Expected: a result that requires grad, or a refusal.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return (x * x).requires_grad


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(3, requires_grad=True),)
    expected = model(*arguments)
    found = torch.compile(lambda x: x * x, backend=backend)(*arguments).requires_grad
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
