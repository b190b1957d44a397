"""zentorch: the argument alpha of torch.add is ignored where a linear layer's result is added to.

Expected: the layer's result and three times the tensor.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x, weight, bias, other):
    return torch.add(torch.nn.functional.linear(x, weight, bias), other, alpha=3)


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.ones(2, 2), torch.ones(2, 2), torch.zeros(2), torch.ones(2, 2))
    with torch.no_grad():
        expected = model(*arguments)
        found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
