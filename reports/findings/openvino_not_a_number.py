"""openvino: relu and maximum do not carry NaN."""

import sys

import torch


def model(x, y):
    return torch.relu(x - y) * 2, torch.maximum(x, y) - 1


arguments = torch.tensor([float("nan"), 1.0]), torch.tensor([1.0, 2.0])
expected = model(*arguments)
for backend in ("eager", "aot_eager", "openvino"):
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
sys.exit(not all(torch.equal(*map(torch.isnan, pair)) for pair in zip(found, expected, strict=True)))
