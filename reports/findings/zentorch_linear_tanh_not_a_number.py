"""zentorch: tanh of a linear layer is 1 where the layer gives NaN.

Expected: NaN: tanh of what is no number is none.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x, weight, bias):
    return torch.tanh(torch.nn.functional.linear(x, weight, bias))


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.tensor([[float("nan"), 1.0], [1.0, 1.0]]), torch.ones(2, 2), torch.zeros(2))
    with torch.no_grad():
        expected = model(*arguments)
        found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
