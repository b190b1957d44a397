"""openvino: results are contiguous where PyTorch's are not, which Dynamo has told the code behind the graph."""

import sys

import torch


def model(x):
    return (x * 2 - 1).t()


for backend in ("eager", "aot_eager", "openvino"):
    found = torch.compile(model, backend=backend)(torch.ones(4, 6))
    print(f"{backend}: {found.stride()}; without torch.compile {model(torch.ones(4, 6)).stride()}")
sys.exit(found.stride() != (1, 6))
