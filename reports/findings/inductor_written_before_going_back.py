"""Inductor: weights that are modified in place between forward and backward give wrong gradients, and no error.

Expected: the error of eager PyTorch and AOT Autograd, "modified by an inplace operation": who sees none may be sure
that the gradients are right (https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks).
What is kept for the way back is a view of the weight which Inductor makes anew, and which has a version counter of its
own (pytorch/pytorch#197887, of inputs).
"""

import sys

import torch


def model(x, weight):
    return torch.relu(x @ weight)


def gradient(backend, written):
    torch.manual_seed(0)
    x, weight = torch.randn(3, 5, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    result = torch.compile(model, backend=backend)(x, weight)
    if written:
        with torch.no_grad():
            weight.add_(1)
    return torch.autograd.grad(result.sum(), x)[0]


expected, wrong = gradient("eager", written=False), False
for backend in ("eager", "aot_eager", "inductor"):
    try:
        off = (gradient(backend, written=True) - expected).abs().max().item()
        wrong, found = off > 0, f"a gradient that is off by {off:.3g}, and no error"
    except RuntimeError as error:
        wrong, found = False, f"RuntimeError: {str(error)[:95]}"
    print(f"{backend}: {found}")
sys.exit(wrong)
