"""openvino: a Conv2d cannot be compiled. Lowering adds symbols to Dynamo's ShapeEnv that no input explains."""

import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval().requires_grad_(False)
image = torch.randn(2, 3, 8, 8)
for backend in ("eager", "aot_eager", "openvino"):
    print(backend, tuple(torch.compile(model, backend=backend)(image).shape), flush=True)
