"""TorchScript: a Python number that was traced beside a tensor is a tensor of float64 once the program is saved, and no
longer gives way to float32: without optimised execution, a sum of tensors without dimensions is in float64."""

import io
import sys

import torch


class Plus(torch.nn.Module):
    def forward(self, x):
        return 1.0 + x


x = torch.tensor(2.0)
traced = torch.jit.trace(Plus(), (x,))
buffer = io.BytesIO()
torch.jit.save(traced, buffer)
found = {}
for optimized in (True, False):
    loaded = torch.jit.load(io.BytesIO(buffer.getvalue()))
    with torch.jit.optimized_execution(optimized):
        found[optimized] = loaded(x).dtype
    print(f"saved and loaded, optimised execution {optimized}: {found[optimized]}")
expected = Plus()(x).dtype
print(f"eager: {expected}; traced and not saved: {traced(x).dtype}")
sys.exit(found[False] != expected)
