"""TorchScript: a large whole number that is a float is saved as an integer.

Expected: float32 after loading too. From 1e10 up to 1e17 it is written without a decimal point, and read as an integer:
silently in another dtype, or, where an operator takes floats alone, as an error of loading. Known in part:
pytorch/pytorch#118189 and pytorch/pytorch#64918 tell of such errors.
"""

import io
import sys

import torch


class Shifted(torch.nn.Module):
    def forward(self, x):
        return x + 1700000000000.0


x = torch.tensor([5])
expected = Shifted()(x).dtype
scripted = torch.jit.script(Shifted())
print(f"eager: {expected}; scripted: {scripted(x).dtype}")
buffer = io.BytesIO()
torch.jit.save(scripted, buffer)
found = torch.jit.load(io.BytesIO(buffer.getvalue()))(x).dtype
print(f"saved and loaded: {found}")
sys.exit(found != expected)
