"""iree: absolute values and quotients of complex numbers cannot be compiled.

Expected: 5. Sums and products of complex tensors are right.
"""

import sys

import torch


def model(x):
    return x.abs()


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([3 + 4j]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
