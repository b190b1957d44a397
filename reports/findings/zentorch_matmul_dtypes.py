"""zentorch: a product of matrices of integers, float64 or complex numbers fails when it is called.

Expected: what eager PyTorch gives: an operator that takes three dtypes must be put in for these alone.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x):
    return x @ x


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.ones(2, 2, dtype=torch.float64),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
