"""TorchScript: a nested module that is frozen while optimised execution is off cannot be called.

Expected: what the module gives. ``torch.jit.load`` turns optimised execution off while ``__setstate__`` runs, in which
a delegate compiles: one that freezes there cannot run what it froze.
"""

import torch


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)


inputs = torch.ones(2, 3)
print(f"eager: {list(Outer()(inputs).shape)}")
module = torch.jit.script(Outer().eval())
torch.jit.freeze(module)(inputs)
with torch.jit.optimized_execution(False):
    frozen = torch.jit.freeze(module)
frozen(inputs)
