"""docc: the maximum of NaN and a number is the number.

Expected: NaN, from either side, as the documentation of torch.maximum says.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x, y):
    return torch.maximum(x, y)


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.tensor([float("nan"), 1.0]), torch.tensor([1.0, float("nan")]))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
