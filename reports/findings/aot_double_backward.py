"""AOT Autograd: gradients of gradients are silently missing, where PyTorch says that it refuses them.

Expected: the gradients that eager PyTorch gives, or the error that AOT Autograd raises where an argument itself is kept
for the way back. Here only what was computed from the arguments is kept.
"""

import sys

import torch


def cubed(x, y):
    product = x @ y
    return product * product * product


def gradients_of_gradients(backend):
    torch._dynamo.reset()
    torch.manual_seed(0)
    x, y = (torch.randn(3, 3, requires_grad=True) for _ in "xy")
    gradients = torch.autograd.grad(torch.compile(cubed, backend=backend)(x, y).sum(), (x, y), create_graph=True)
    penalty = sum((each * each).sum() for each in gradients)
    return torch.autograd.grad(penalty, (x, y), allow_unused=True)


expected = gradients_of_gradients("eager")
print(f"eager: {expected[0].flatten().tolist()}")
try:
    found = gradients_of_gradients("aot_eager")
except RuntimeError as error:
    sys.exit(0 if "double backward" in str(error) else str(error))
for wanted, seen in zip(expected, found, strict=True):
    if seen is None or not torch.allclose(wanted, seen):
        print(f"aot_eager: {seen}")
        sys.exit(1)
