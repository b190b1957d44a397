"""docc: a result of uint8 is one of int8.

Expected: uint8, as eager PyTorch gives.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    return x + 1


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.tensor([200], dtype=torch.uint8),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
