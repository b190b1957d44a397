"""PyTorch's meta kernels tell other strides than the kernels of the CPU have: of `batch_norm` on a transposed argument,
and of `pixel_shuffle` on one whose channels are last.

Whoever lays memory out as a FakeTensor says, as Inductor does, is wrong by that: a compiled `BatchNorm2d` gives a
transposed result where eager PyTorch's is contiguous. Known for `batch_norm` (pytorch/pytorch#192668).
"""

import sys

import torch
import torch.nn.functional as F

images = torch.randn(1, 8, 4, 4)
cases = {
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), images.transpose(2, 3)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), images.contiguous(memory_format=torch.channels_last)),
}
wrong = []
for name, (function, argument) in cases.items():
    expected, found = function(argument).stride(), function(argument.to("meta")).stride()
    if found != expected:
        wrong.append(f"{name}: the kernel gives strides {list(expected)}, and the meta kernel {list(found)}")
if wrong:
    sys.exit("; ".join(wrong))
