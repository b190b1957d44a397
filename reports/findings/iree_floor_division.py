"""iree: the quotient of large int64 that is rounded down is computed in floats: off by thousands.

Expected: the quotient of whole numbers, exactly.
"""

import sys

import torch


def model(x, y):
    return x // y


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([2**40 + 1]), torch.tensor([3]))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
