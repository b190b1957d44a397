"""Inductor: `torch.heaviside` of two dtypes gives a value, where eager PyTorch raises.

Expected: "heaviside is not yet implemented for tensors with different dtypes."
"""

import sys

import torch

x, at_zero = torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([True])
gave = False
for backend in ("eager", "aot_eager", "inductor"):
    try:
        found = torch.compile(torch.heaviside, backend=backend)(x, at_zero)
        gave = gave or backend == "inductor"
    except RuntimeError as error:
        found = f"RuntimeError: {str(error).splitlines()[0]}"
    print(f"{backend}: {found}")
sys.exit(gave)
