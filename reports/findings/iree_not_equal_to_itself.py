"""iree: NaN == NaN is true.

Expected: False, as IEEE 754 and PyTorch have it; `x != x` is how one finds NaN.
"""

import sys

import torch


def model(x):
    return x == x


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([float("nan"), 1.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
