"""Inductor: the gradient of smooth_l1_loss where the prediction is NaN is 0, while the loss itself is NaN.

Expected: NaN, as eager PyTorch and AOT Autograd give it: a zero hides from whoever looks at gradients that a model has
left the numbers. PyTorch's decomposition of the way back, which Inductor takes, multiplies by the sign, which is 0.
"""

import sys

import torch
from torch.nn import functional


def model(x):
    return functional.smooth_l1_loss(x, torch.zeros(2), reduction="sum")


for backend in ("eager", "aot_eager", "inductor"):
    torch._dynamo.reset()
    x = torch.tensor([float("nan"), 0.7], requires_grad=True)
    loss = torch.compile(model, backend=backend)(x)
    loss.backward()
    print(f"{backend}: the loss {loss.item()}, its gradient {x.grad.tolist()}")
sys.exit(not x.grad[0].isnan().item())
