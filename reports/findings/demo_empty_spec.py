"""backend_with_compiler_demo (shipped in some wheels of torch): an empty method compile spec is accepted."""

import sys
from pathlib import Path

import torch

torch.ops.load_library(str(Path(torch.__file__).parent / "lib" / "libbackend_with_compiler.so"))


class Add(torch.nn.Module):
    def forward(self, x, h):
        return x + h


try:
    lowered = torch._C._jit_to_backend("backend_with_compiler_demo", torch.jit.script(Add()), {})
except RuntimeError as error:
    print("refused:", error)
else:
    print("accepted; its methods are", lowered._c._method_names())
    sys.exit(1)
