"""iree: the maximum of NaN and a number is the number where NaN comes first.

Expected: NaN from either side: the documentation of torch.maximum.
"""

import sys

import torch


def model(x, y):
    return (torch.maximum(x, y), torch.minimum(x, y))


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([float("nan"), 1.0]), torch.tensor([1.0, float("nan")]))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
