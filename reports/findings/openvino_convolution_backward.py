"""openvino with aot_autograd: a Conv2d whose weights require grad cannot be compiled."""

import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
image = torch.randn(2, 3, 8, 8)
for backend, options in (("eager", None), ("aot_eager", None), ("openvino", {"aot_autograd": True})):
    torch.compile(model, backend=backend, options=options)(image).sum().backward()
    print(backend, tuple(model[0].weight.grad.shape), flush=True)
