"""backend_with_compiler_demo (shipped in some wheels of torch): it computes the first element of a tensor only."""

import sys
from pathlib import Path

import torch

torch.ops.load_library(str(Path(torch.__file__).parent / "lib" / "libbackend_with_compiler.so"))


class Add(torch.nn.Module):
    def forward(self, x, h):
        return x + h


spec = {"forward": {"some_compiler_option": "True"}}
lowered = torch._C._jit_to_backend("backend_with_compiler_demo", torch.jit.script(Add()), spec)
x, h = torch.arange(4.0), torch.ones(4)
print("expected", x + h, "found", lowered(x, h))
sys.exit(not torch.equal(lowered(x, h), x + h))
