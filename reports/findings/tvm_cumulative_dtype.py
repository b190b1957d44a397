"""tvm: cumsum and prod of int32 are int32.

Expected: int64, as PyTorch computes sums and products of integers.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return (x.cumsum(0), x.prod())


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(3, dtype=torch.int32),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
