"""AOT Autograd: two equal results are one piece of memory where gradients are wanted: who changes one changes both.

Results that an operator gives alone are kept apart since pytorch/pytorch#134726; those of an operator that gives
several, as `torch.cummax` does, are not."""

import sys

import torch


def model(x):
    return torch.cummax(-x, 0)[0], torch.cummax(-x, 0)[0]


shared = {}
for backend in ("eager", "aot_eager", "inductor"):
    torch._dynamo.reset()
    one, other = torch.compile(model, backend=backend)(torch.ones(3, requires_grad=True))
    with torch.no_grad():
        one += 1
    shared[backend] = one.data_ptr() == other.data_ptr()
    print(f"{backend}: {other.tolist()} is what one result is when the other was added one to")
sys.exit(shared["aot_eager"] and not shared["eager"])
