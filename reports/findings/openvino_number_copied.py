"""openvino with aot_autograd: a tensor without dimensions that is written to ends the process with SIGSEGV.

Expected: the argument, which is copied over the result of ceil.
"""

import sys

import torch


def model(x):
    rounded = torch.ceil(x)
    rounded.copy_(x)
    return rounded


for backend, options in (("eager", None), ("aot_eager", None), ("openvino", {"aot_autograd": True})):
    found = torch.compile(model, backend=backend, options=options)(torch.tensor(2.5))
    print(f"{backend}: {found.item()}", flush=True)
sys.exit(found.item() != 2.5)
