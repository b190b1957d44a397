"""openvino: an option that it does not know, such as a misspelt one, is ignored without a word; Inductor refuses it.

Expected: an error that names the option.
"""

import sys

import torch

taken = {}
print(f"eager: {(torch.relu(torch.ones(3)) * 2 - 1).tolist()}")
for backend in ("inductor", "openvino"):
    try:
        torch.compile(lambda x: torch.relu(x) * 2 - 1, backend=backend, options={"aot_autogrd": True})(torch.ones(3))
        taken[backend] = True
        print(f"{backend}: nothing is said")
    except RuntimeError as error:
        taken[backend] = False
        print(f"{backend}: {str(error)[:60]}")
sys.exit(taken["openvino"])
