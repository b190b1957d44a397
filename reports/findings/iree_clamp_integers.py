"""iree: clamp of a tensor of integers with bounds that are floats cannot be compiled.

Expected: float32.
"""

import sys

import torch


def model(x):
    return x.clamp(0.5, 1.5)


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([0, 1, 2]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
