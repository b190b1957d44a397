"""docc: a result that is laid out as a transposed argument is comes back contiguous.

Expected: the strides of eager PyTorch's result, (1, 3).
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    return x.t() * 2


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.ones(2, 3),)
    expected = model(*arguments).stride()
    found = torch.compile(model, backend=backend)(*arguments).stride()
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
