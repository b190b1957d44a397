"""TorchScript: a Python number that was traced beside a tensor no longer gives way to its dtype, once it is saved.

Expected: float32. It is saved as a tensor of float64: without optimised execution, a sum of a number and a tensor
without dimensions is in float64.
"""

import io
import sys

import torch


class Plus(torch.nn.Module):
    def forward(self, x):
        return 1.0 + x


x = torch.tensor(2.0)
expected = Plus()(x).dtype
traced = torch.jit.trace(Plus(), (x,))
print(f"eager: {expected}; traced and not saved: {traced(x).dtype}")
buffer = io.BytesIO()
torch.jit.save(traced, buffer)
found = {}
for optimized in (True, False):
    loaded = torch.jit.load(io.BytesIO(buffer.getvalue()))
    with torch.jit.optimized_execution(optimized):
        found[optimized] = loaded(x).dtype
    print(f"saved and loaded, optimised execution {optimized}: {found[optimized]}")
sys.exit(found[False] != expected)
