"""Eager PyTorch: going back through a group norm of a channels-last image that needs no gradient ends with SIGSEGV.

Expected: the gradients of its weight and its bias, as for a contiguous image, or as where the image needs a gradient
too. This is how a model is trained whose first layer is a group norm. Seen on a CPU.
"""

import torch

for memory_format in (torch.contiguous_format, torch.channels_last):
    norm = torch.nn.GroupNorm(4, 4)
    image = torch.ones(4, 4, 3, 3).to(memory_format=memory_format)
    norm(image).sum().backward()
    print(f"eager, {memory_format}: {norm.bias.grad}", flush=True)
