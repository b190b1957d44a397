"""iree: code for dynamic sizes fails when it is called: 'int' object has no attribute 'data'.

Expected: a result, or a refusal where it is compiled. The README says that not everything works with dynamic
shapes.
"""

import sys

import torch


def model(x):
    return x * 2


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.ones(5),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend, dynamic=True)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
