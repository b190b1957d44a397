"""TorchScript: a method that ran with gradients recorded cannot run in inference mode afterwards."""

import torch

module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)))
inputs = torch.randn(2, 8)
for _ in range(2):  # the profiling executor now has a graph with prim::DifferentiableGraph in it
    module(inputs)
with torch.inference_mode():
    module(inputs)
