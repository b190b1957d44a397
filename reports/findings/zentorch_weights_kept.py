"""zentorch: a linear layer whose weights are changed in place goes on with those of its first call.

Expected: the product with the weights as they are when the code is called, as after load_state_dict or a step of an
optimiser.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x, weight):
    return torch.nn.functional.linear(x, weight)


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    x, weight = torch.ones(1, 4), torch.ones(2, 4)
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        compiled(x, weight)
        weight.mul_(10)
        found, expected = compiled(x, weight), model(x, weight)
    print(f"{backend}: after the weights were multiplied by 10: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
