"""tvm: clamp of a tensor of integers takes its bounds as integers.

Expected: float32, with the bounds as they are given.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return x.clamp(0.5, 1.5)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([0, 1, 2]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
