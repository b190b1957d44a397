"""TorchScript: a method that ran in inference mode gives inference tensors outside of it.

What depends on no argument is computed once, when the profiling executor makes its graph, and kept: an inference tensor
where that is in inference mode. Every later call gives it, and none that is trained can take it.

Expected: False after a call outside of inference mode, as in eager PyTorch.
"""

import sys

import torch


class Scaled(torch.nn.Module):
    def forward(self, x):
        scale = torch.full((3,), 1.5).exp()
        return x + 1, scale


inputs = torch.ones(2)
for how, module in (("eager", Scaled()), ("scripted", torch.jit.script(Scaled()))):
    with torch.inference_mode():
        for _ in range(3):
            module(inputs)
    found = module(inputs)[1].is_inference()
    print(f"{how}: outside of inference mode, an inference tensor: {found}")
    if found:
        sys.exit("expected False, found True: the constant is of the calls in inference mode")
