"""iree: roll cannot be compiled.

Expected: [2, 0, 1].
"""

import sys

import torch


def model(x):
    return x.roll(1)


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.arange(3.0),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
