"""Inductor: a convolution with gradients over a row, once its length has changed, cannot be compiled: a TypeError.

Expected: a result, as in eager PyTorch and with AOT Autograd, and as Inductor gives it without gradients. Inductor asks
which of two strides is the larger where one of them is the length, which is no number any more: "cannot determine
truth value of Relational". Sorting strides has the same error in pytorch/pytorch#185510.
"""

import sys

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 1)

    def forward(self, x):
        return self.conv(x.reshape(1, 1, 1, -1))


torch.manual_seed(0)
for backend in ("eager", "aot_eager", "inductor"):
    model = torch.compile(Model(), backend=backend)
    for length in (2, 4):
        try:
            print(f"{backend}: {list(model(torch.randn(length)).shape)} of a row of {length}")
        except Exception as error:
            print(f"{backend}: {type(error).__name__} of a row of {length}: {str(error).splitlines()[0]}")
            sys.exit(1)
