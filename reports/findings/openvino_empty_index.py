"""openvino with aot_autograd: a lookup with an index that has no elements ends the process with SIGFPE."""

import torch


def model(x, where):
    return torch.relu(x)[where] * 2 - 1


arguments = torch.ones(8), torch.zeros(0, 1, dtype=torch.int64)
for backend, options in (("eager", None), ("aot_eager", None), ("openvino", {"aot_autograd": True})):
    print(backend, torch.compile(model, backend=backend, options=options)(*arguments).shape, flush=True)
