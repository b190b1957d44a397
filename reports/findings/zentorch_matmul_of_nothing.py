"""zentorch: a product of matrices whose inner size is 0 is memory that nobody wrote.

Expected: zeros: a sum of no terms.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(x, y):
    return x @ y


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.ones(50, 0), torch.ones(0, 60))
    expected = model(*arguments).count_nonzero()
    torch.full((50, 60), 7.0)  # freed at once: what new memory may hold
    found = torch.compile(model, backend=backend)(*arguments).count_nonzero()
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
