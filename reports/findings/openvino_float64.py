"""openvino: float64 is computed in float32, and returned as float64."""

import sys

import torch


def model(x, y):
    return (x - y) * 2 - (y - x)


arguments = torch.tensor([2.0**30 + 0.5], dtype=torch.float64), torch.tensor([2.0**30], dtype=torch.float64)
expected = model(*arguments)
for backend in ("eager", "aot_eager", "openvino"):
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
sys.exit(not torch.allclose(found, expected))
