"""backend_with_compiler_demo (shipped in some wheels of torch): it compiles a constant tensor, and cannot run it."""

import sys
from pathlib import Path

import torch

torch.ops.load_library(str(Path(torch.__file__).parent / "lib" / "libbackend_with_compiler.so"))


class Added(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x + self.weight


frozen = torch.jit.freeze(torch.jit.script(Added().eval()))
try:
    lowered = torch._C._jit_to_backend("backend_with_compiler_demo", frozen, {"forward": ""})
except RuntimeError as error:
    print("refused:", error)
    sys.exit()
try:
    print(lowered(torch.ones(1)))
except RuntimeError as error:
    sys.exit(f"lowered, and then: {str(error).strip().splitlines()[-1]}")
