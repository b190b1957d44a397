"""tvm: an index tensor with negative values reads another element.

Expected: an index of -1 is the last element.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, index):
    return x[index]


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.arange(1.0, 4.0), torch.tensor([-1]))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
