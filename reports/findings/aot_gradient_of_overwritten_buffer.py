"""AOT Autograd: a gradient is that of a buffer as it is after the call, where the call has read and then changed it.

The partitioner computes again on the way back what was read of the buffer, to save memory, and does not see that the
graph writes to the buffer at its end. A default `torch.compile` has the wrong gradient, without a word.
pytorch/pytorch#197039 proposes to save such values."""

import sys

import torch


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.tensor([0.0, 1.0, 2.0]))

    def forward(self, x):
        gated = x * torch.sigmoid(self.state)
        self.state.mul_(0.5).add_(1)
        return gated


found = {}
for backend in ("eager", "aot_eager", "inductor"):
    torch._dynamo.reset()
    x = torch.ones(3, requires_grad=True)
    torch.compile(Gate(), backend=backend)(x).sum().backward()
    found[backend] = x.grad
    print(f"{backend}: the gradient is {[round(each, 4) for each in x.grad.tolist()]}")
sys.exit(not torch.allclose(found["aot_eager"], found["eager"]))
