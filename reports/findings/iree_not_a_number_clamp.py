"""iree: clamp gives the lower bound for NaN.

Expected: NaN.
"""

import sys

import torch


def model(x):
    return x.clamp(0, 1)


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([float("nan"), 2.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
