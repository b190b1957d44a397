"""zentorch: addmm and baddbmm with beta=0 carry NaN of the tensor that is not added.

Expected: the product alone. The documentation of torch.addmm: if beta is 0 'nan and inf in it will not be propagated'.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x, a, b):
    return torch.addmm(x, a, b, beta=0)


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.full((2, 2), float("nan")), torch.ones(2, 2), torch.ones(2, 2))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
