"""docc: the negation of a tensor of bool is the tensor itself.

Expected: the other value of each.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    return ~x


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.tensor([True, False]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
