"""zentorch: a clone that a model returns is its argument: who writes to the result changes the argument.

Expected: a tensor of its own. The pass unused_node_elimination takes a clone with one user away, whoever that user is.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x):
    return x.clone()


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.zeros(3),)
    model(*arguments).add_(1)
    expected = arguments[0].clone()
    torch.compile(model, backend=backend)(*arguments).add_(1)
    found = arguments[0]
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
