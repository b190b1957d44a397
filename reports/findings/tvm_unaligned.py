"""tvm: an argument that does not begin at a multiple of 64 bytes ends the process with SIGSEGV.

Expected: a result, or a refusal: Dynamo makes no guard of where in its memory a tensor begins.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, y):
    return x * y + x


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = tuple(torch.ones(65)[1:] for _ in range(2))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
