"""iree: the sum of complex numbers ends the process with SIGABRT while it is compiled.

Expected: 3, or an error.
"""

import sys

import torch


def model(x):
    return x.sum()


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.ones(3, dtype=torch.complex64),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
