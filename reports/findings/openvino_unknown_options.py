"""openvino: an option that it does not know, such as a misspelt one, is ignored without a word; Inductor refuses it."""

import sys

import torch

taken = {}
for backend in ("inductor", "openvino"):
    try:
        torch.compile(lambda x: torch.relu(x) * 2 - 1, backend=backend, options={"aot_autogrd": True})(torch.ones(3))
        taken[backend] = True
        print(f"{backend}: nothing is said")
    except RuntimeError as error:
        taken[backend] = False
        print(f"{backend}: {str(error)[:60]}")
sys.exit(taken["openvino"])
