"""zentorch: a model that converts a tensor to float64 cannot be compiled: 'Expected bool, got <class 'set'>'.

Expected: what eager PyTorch gives. In _qop_replacement.py the extra_check of the pattern for float64 gives a set.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x):
    return x.to(torch.float64) * 2


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.ones(3),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
