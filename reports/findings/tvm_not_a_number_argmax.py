"""tvm: argmax passes over NaN.

Expected: the place of the NaN: PyTorch's maximum carries it.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return x.argmax()


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([1.0, float("nan"), 2.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
