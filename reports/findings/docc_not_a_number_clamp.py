"""docc: clamp gives the lower bound for NaN.

Expected: NaN, which is carried.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    return x.clamp(0, 1)


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.tensor([float("nan"), 2.0]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
