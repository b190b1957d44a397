"""openvino: the inputs of the last call stay in memory, though nobody else holds them.

Expected: that the inputs are freed when nobody else holds them, as in eager PyTorch.
"""

import gc
import sys

import torch
from torch.multiprocessing.reductions import StorageWeakRef

kept = []
for backend, options in (
    ("eager", None),
    ("aot_eager", None),
    ("openvino", None),
    ("openvino", {"aot_autograd": True}),
):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: torch.relu(x - y) * 2 - y, backend=backend, options=options)
    for _ in range(3):
        x = torch.ones(10_000_000)
        memory = StorageWeakRef(x.untyped_storage())
        compiled(x, x[:1])
        del x
    gc.collect()
    kept.append(not memory.expired())
    print(f"{backend} {options or ''}: the 40 MB of the last input are {'kept' if kept[-1] else 'free'}")
sys.exit(any(kept))
