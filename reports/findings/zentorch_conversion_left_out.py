"""zentorch: what torch.clamp_max gives is not converted to int64: the result keeps the dtype and the digits it had.

Expected: int64. The pattern of _qop_replacement.py that takes the conversion away does not ask for a quantised graph.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x):
    return torch.clamp_max(x, 3).to(torch.int64)


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.tensor([1.7, 9.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
