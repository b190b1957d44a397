"""iree: a write through a mask that selects nothing ends the process with SIGSEGV.

Expected: [-1., -1., -1.]. With a mask that selects something it is right.
"""

import sys

import torch


def model(x):
    return x.index_put((x > 0,), torch.tensor(1.0))


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (-torch.ones(3),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
