"""AOT Autograd: what is written to a tensor of float64 without dimensions, an argument or a buffer, is lost on the CPU.

A default `torch.compile` has it from there. Tensors of other dtypes, and those of one element that have a dimension,
are written to. Each of `add_`, `mul_`, `copy_`, `fill_`, `neg_` and `zero_` is lost, without a word."""

import sys

import torch


class Counts(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=dtype))

    def forward(self, x):
        self.calls.add_(1)
        return x * 2


found = {}
for name in ("eager", "aot_eager"):
    for dtype in (torch.float64, torch.float32):
        torch._dynamo.reset()
        model = Counts(dtype)
        compiled = torch.compile(model, backend=name)
        for _ in range(3):
            compiled(torch.ones(3))
        found[name, dtype] = model.calls.item()
        print(f"{name}, {dtype}: {model.calls.item()} calls are counted")
sys.exit(found["aot_eager", torch.float64] != found["eager", torch.float64])
