"""iree: a float64 argument: the buffer that comes back has half of the bytes, and the call fails.

Expected: float64, or a refusal where it is compiled.
"""

import sys

import torch


def model(x):
    return x * x - x


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.tensor([1 + 2**-30], dtype=torch.float64),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
