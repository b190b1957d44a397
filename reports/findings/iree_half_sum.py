"""iree: the sum of 4000 ones in float16 is 2048, and the mean of 70000 ones is 0.

Expected: 4000 and 1: PyTorch accumulates in float32.
"""

import sys

import torch


def model(x, y):
    return (x.sum(), y.mean())


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.ones(4000, dtype=torch.float16), torch.ones(70000, dtype=torch.float16))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
