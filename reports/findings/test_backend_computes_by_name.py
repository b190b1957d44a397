"""test_backend (shipped in some wheels of torch): it computes what a method is called, and not what it says."""

import sys
from pathlib import Path

import torch

torch.ops.load_library(str(Path(torch.__file__).parent / "lib" / "libjitbackend_test.so"))


class Difference(torch.nn.Module):
    def accum(self, x, h):
        return x - h

    def forward(self, x, h):
        return self.accum(x, h)


module = torch.jit.script(Difference())
module.define("def sub_accum(self, x, h):\n    return x + h\n")
lowered = torch._C._jit_to_backend("test_backend", module, {"sub_accum": {"": ""}})
x, h = torch.full((2,), 5.0), torch.ones(2)
print("expected", x + h, "found", lowered.sub_accum(x, h))
sys.exit(not torch.equal(lowered.sub_accum(x, h), x + h))
