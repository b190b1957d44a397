"""openvino: a slice of an argument cannot be compiled, because of the same symbols as in openvino_convolution.py."""

import torch


def model(x):
    return x[1:], x * 2 - 1


for backend in ("eager", "aot_eager", "openvino"):
    print(backend, *torch.compile(model, backend=backend)(torch.ones(4, 3)), flush=True)
