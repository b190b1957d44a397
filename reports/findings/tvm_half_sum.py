"""tvm: the sum of 4000 ones in float16 is 2048: it is added up in float16.

Expected: 4000, which float16 has exactly: PyTorch accumulates in float32.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return x.sum()


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(4000, dtype=torch.float16),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
