"""zentorch: an embedding whose weights are float64 fails when it is called.

Expected: what eager PyTorch gives: an operator that takes three dtypes must be put in for these alone.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(weight, index):
    return torch.nn.functional.embedding(index, weight)


wrong = False
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    arguments = (torch.arange(6.0, dtype=torch.float64).reshape(3, 2), torch.tensor([1, 2]))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
