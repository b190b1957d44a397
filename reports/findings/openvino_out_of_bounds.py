"""openvino: indices out of bounds give a value, where PyTorch raises.

Expected: eager PyTorch's IndexError, or another error.
"""

import sys

import torch


def model(table, where):
    return torch.relu(table * 2)[where] - table[0]


table = torch.arange(1.0, 7).reshape(3, 2)
for backend in ("eager", "aot_eager", "openvino"):
    compiled = torch.compile(model, backend=backend)
    compiled(table, torch.tensor([0, 2]))
    try:
        found = compiled(table, torch.tensor([7, -9]))
    except IndexError as error:
        print(f"{backend}: {error}")
    else:
        sys.exit(f"{backend}: rows 7 and -9 of 3 are {found.tolist()}")
