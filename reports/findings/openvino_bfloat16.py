"""openvino: the bits of a result that is bfloat16, as under autocast, are handed out as those of a float16."""

import sys

import torch

x, y = torch.full((3, 3), 1e4), torch.full((3, 3), 10.0)
wrong = False
for backend, options in (
    ("eager", None),
    ("aot_eager", None),
    ("openvino", None),
    ("openvino", {"aot_autograd": True}),
):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: torch.relu(x @ y) * 2, backend=backend, options=options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = compiled(x, y)
    wrong |= result.dtype != torch.bfloat16
    print(f"{backend} {options or ''}: {result.dtype}, {result[0, 0].item():g}; expected torch.bfloat16, some 600000")
sys.exit(wrong)
