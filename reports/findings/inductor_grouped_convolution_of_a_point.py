"""Inductor: a grouped convolution with gradients of pictures of one point, which it pads, ends in an AssertionError.

Expected: a result, as in eager PyTorch and with AOT Autograd, and as Inductor gives it without gradients, without
groups, of two points, or with several threads, where PyTorch takes another kernel. Of one point the strides say both
that channels come first and that they come last; Inductor asserts the strides of the latter of what the kernel gives,
which has those of the former.
"""

import sys

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
weight = torch.nn.Parameter(torch.randn(6, 1, 1, 1))
for backend in ("eager", "aot_eager", "inductor"):
    convolve = torch.compile(
        lambda x: torch.nn.functional.conv2d(x, weight, padding=1, groups=2), backend=backend, dynamic=False
    )
    for width in (2, 1):
        try:
            print(f"{backend}: {list(convolve(torch.randn(2, 2, 1, width)).shape)} of pictures of {width}")
        except Exception as error:
            print(f"{backend}: {type(error).__name__} of pictures of {width}: {str(error).splitlines()[0]}")
            sys.exit(1)
