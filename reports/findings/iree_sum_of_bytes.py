"""iree: the sum of uint8 takes its values for signed ones: 200 + 200 is -112.

Expected: 400, in int64.
"""

import sys

import torch


def model(x):
    return x.sum()


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([200, 200], dtype=torch.uint8),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
