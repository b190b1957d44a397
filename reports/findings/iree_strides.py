"""iree: a result in channels_last order comes back contiguous.

Expected: the strides of eager PyTorch.
"""

import sys

import torch


def model(x):
    return x * 2


wrong = False
for name, backend in (("eager", "eager"), ("turbine_cpu", "turbine_cpu")):
    torch._dynamo.reset()
    arguments = (torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last),)
    expected = model(*arguments).stride()
    found = torch.compile(model, backend=backend)(*arguments).stride()
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
