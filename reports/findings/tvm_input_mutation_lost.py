"""tvm: what a model writes to its input by += is lost.

Expected: the argument is 2 afterwards.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    x += 1
    return x * 2


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(3),)
    expected = (model(*arguments), *arguments)
    arguments = (torch.ones(3),)
    found = (torch.compile(model, backend=backend)(*arguments), *arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
