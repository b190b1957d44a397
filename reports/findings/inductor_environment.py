"""Inductor: compiling leaves an environment variable set, which every later child process inherits: an address."""

import os
import sys

import torch

new = {}
for backend in ("eager", "aot_eager", "inductor"):
    before = set(os.environ)
    torch.compile(lambda x: torch.relu(x) * 2 - 1, backend=backend)(torch.ones(3))
    new[backend] = {name for name in set(os.environ) - before if name == "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"}
    print(f"{backend}: {new[backend] or 'nothing'}")
sys.exit(bool(new["inductor"]))
