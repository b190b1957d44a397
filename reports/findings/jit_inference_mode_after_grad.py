"""TorchScript: a method that ran with gradients recorded cannot run in inference mode afterwards.

Expected: the result of the call in inference mode, as before gradients were recorded.
"""

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
inputs = torch.randn(2, 8)
with torch.inference_mode():
    print(f"eager, in inference mode: {list(model(inputs).shape)}")
module = torch.jit.script(model)
for _ in range(2):  # the profiling executor now has a graph with prim::DifferentiableGraph in it
    module(inputs)
with torch.inference_mode():
    module(inputs)
