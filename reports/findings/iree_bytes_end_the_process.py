"""iree: a tensor of uint8 times a number ends the process with SIGSEGV while it is compiled.

Expected: [88], or an error.
"""

import sys

import torch


def model(x):
    return x * 3


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([200], dtype=torch.uint8),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
