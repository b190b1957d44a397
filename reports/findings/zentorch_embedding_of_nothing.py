"""zentorch: an embedding of no indices fails when it is called: 'tensor creation of indices failed'.

Expected: a tensor of no rows, as eager PyTorch gives.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(weight, index):
    return torch.nn.functional.embedding(index, weight)


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.arange(6.0).reshape(3, 2), torch.tensor([], dtype=torch.int64))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
