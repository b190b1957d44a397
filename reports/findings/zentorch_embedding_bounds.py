"""zentorch: an embedding of an index that is out of bounds reads from beside the weights.

Expected: IndexError, as eager PyTorch raises.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def model(weight, index):
    return torch.nn.functional.embedding(index, weight)


def outcome(function, *arguments):
    try:
        return f"a value, {function(*arguments).tolist()}"
    except (IndexError, RuntimeError) as error:
        return type(error).__name__


found = {}
for backend in ("eager", "zentorch"):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend)
    weight = torch.arange(6.0).reshape(3, 2)
    found[backend] = [outcome(compiled, weight, torch.tensor([index])) for index in (7, -1)]
    print(f"{backend}: an index of 7: {found[backend][0]}; of -1: {found[backend][1]}")
sys.exit(any("a value" in each for each in found["zentorch"]))
