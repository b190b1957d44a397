"""iree: logsumexp cannot be compiled.

Expected: 1000.
"""

import sys

import torch


def model(x):
    return x.logsumexp(0)


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([1000.0, 0.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
