"""docc: a sum of all elements cannot be compiled: 'Reference memlets must have a pointer destination'.

Expected: a tensor with no dimensions.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    return x.sum()


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.ones(5),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
