"""zentorch: a linear layer of no inputs cannot be compiled: 'LoweringException: AssertionError'.

Expected: the bias: a sum of no terms is 0.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x, weight, bias):
    return torch.nn.functional.linear(x, weight, bias)


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.ones(2, 0), torch.ones(3, 0), torch.ones(3))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
