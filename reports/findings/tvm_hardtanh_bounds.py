"""tvm: the bounds of hardtanh are ignored: it clamps to -1 and 1.

Expected: values between min_val and max_val.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return torch.nn.functional.hardtanh(x, -2.0, 2.0)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.tensor([-3.0, 1.5]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
