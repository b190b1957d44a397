"""iree: a product of matrices without a common element ends the process with SIGFPE while it is compiled.

Expected: a matrix of zeros.
"""

import sys

import torch


def model(x):
    return x @ x.t()


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.ones(3, 0),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
