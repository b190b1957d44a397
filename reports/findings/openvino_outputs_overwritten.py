"""openvino: the result of a call is overwritten by the next call.

Expected: that the first result stays what it was.
"""

import sys

import torch


def model(x, y):
    return torch.relu(x - y) * 2 - y


ones, twos = torch.ones(3), torch.ones(3) * 2
for backend in ("eager", "aot_eager", "openvino"):
    compiled = torch.compile(model, backend=backend)
    first = compiled(twos, ones)
    before = first.clone()
    compiled(ones, twos)
    print(f"{backend}: the first result is {before.tolist()}, and after the second call {first.tolist()}")
sys.exit(not torch.equal(first, before))
