"""openvino: a graph with a size that only the data tells fails when it runs (its assertion is given a tensor)."""

import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


def model(x, y):
    return torch.relu(y)[torch.nonzero(x > 0)] * 2 - 1


for backend in ("eager", "aot_eager", "openvino"):
    found = torch.compile(model, backend=backend)(torch.tensor([1.0, -1.0, 2.0]), torch.ones(3))
    print(backend, found.tolist(), flush=True)
