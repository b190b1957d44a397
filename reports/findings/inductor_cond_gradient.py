"""Inductor: the gradient of what goes on beside a `torch.cond` is multiplied by the gradient of the branch.

Expected: 1 + 3 for each element. The branch writes its gradient over the one that it was given, which is used once more
for the other path: 3 + 3. Nothing is raised.
"""

import sys

import torch


class Gated(torch.nn.Module):
    def forward(self, x):
        return x + torch.cond((x > 0).all(), lambda x: x * 3, lambda x: x * 5, (x,))


found = {}
for backend in ("eager", "aot_eager", "inductor"):
    x = torch.tensor([1.0, 4.0, 9.0], requires_grad=True)
    torch.compile(Gated(), backend=backend)(x).sum().backward()
    found[backend] = x.grad
    print(f"{backend}: {x.grad}")
sys.exit(not torch.equal(found["inductor"], found["eager"]))
