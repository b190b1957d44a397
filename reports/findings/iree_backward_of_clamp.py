"""iree: a model with clamp or maximum cannot be trained: 'Please convert all Tensors to FakeTensors first'.

Expected: the gradient. The graph of the way back has torch.where with a constant, which iree-turbine's passes trace.
"""

import torch

for backend in ("eager", "turbine_cpu"):
    torch._dynamo.reset()
    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    torch.compile(lambda x: x.clamp(0, 1), backend=backend)(x).sum().backward()
    print(f"{backend}: {x.grad}")
