"""openvino: each new size of a dynamic dimension makes every call one function deeper, up to a RecursionError.

Expected: any number of sizes, as with aot_eager.
"""

import torch


def model(x, y):
    return torch.relu(x - y) * 2 - y


for backend in ("eager", "aot_eager", "openvino"):
    compiled = torch.compile(model, backend=backend, dynamic=True)
    for size in range(2, 1100):
        try:
            compiled(torch.ones(size), torch.ones(size))
        except RecursionError:
            print(f"{backend}: a call with {size} elements, after {size - 2} other sizes:")
            raise
    print(f"{backend}: 1098 sizes", flush=True)
