"""ExecuTorch's own kernels, without a delegate: `torch.remainder` of whole numbers has the sign of the dividend.

PyTorch's has the sign of the divisor, as Python's `%`: -7 of 4 is 1. The kernel gives -3, which is `torch.fmod`. Of
floating-point numbers it is right.
"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Remainder(torch.nn.Module):
    """What is left of a division by four."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of each element."""
        return torch.remainder(x, 4)


model = Remainder().eval()
for dtype in (torch.float32, torch.int64, torch.int32, torch.int16):
    x = torch.tensor([-7, -4, -1, 0, 1, 7], dtype=dtype)
    exported = torch.export.export(model, (x,))
    program = Runtime.get().load_program(to_edge_transform_and_lower(exported).to_executorch().buffer)
    (found,) = program.load_method("forward").execute((x,))
    if not torch.equal(found, model(x)):
        sys.exit(f"of {dtype}: expected {model(x).tolist()}, found {found.tolist()}")
