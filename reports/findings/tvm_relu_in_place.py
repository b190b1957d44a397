"""tvm: torch.relu_ changes nothing.

Expected: [0, 1].
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    result = x * 1
    torch.relu_(result)
    return result


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([-1.0, 1.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
