"""openvino with aot_autograd: a buffer of no elements that is written to ends the process with SIGFPE.

Expected: a result of no elements.
"""

import sys

import torch


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(0, 1))

    def forward(self, x):
        self.kept.copy_(x)
        x.zero_()
        return self.kept + x


for backend, options in (("eager", None), ("aot_eager", None), ("openvino", {"aot_autograd": True})):
    with torch.inference_mode():
        found = torch.compile(Keeps(), backend=backend, options=options)(torch.zeros(0, 1))
    print(f"{backend}: {found.tolist()}", flush=True)
sys.exit(found.shape != (0, 1))
