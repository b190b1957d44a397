"""test_backend_unavailable (shipped in some wheels of torch): it says that it is unavailable, and computes."""

import sys
from pathlib import Path

import torch

torch.ops.load_library(str(Path(torch.__file__).parent / "lib" / "libjitbackend_test.so"))


class SumAndDifference(torch.nn.Module):
    def forward(self, x, h):
        return x + h, x - h


lowered = torch._C._jit_to_backend(
    "test_backend_unavailable", torch.jit.script(SumAndDifference()), {"forward": {"": ""}}
)
inner = lowered.__loweredModule__
inner.define(
    "def probe(self, inputs: List[Any]) -> List[Any]:\n"
    "    handles = self.__backend.compile(self.__processed_module, self.__method_compile_spec)\n"
    "    return self.__backend.execute(handles['forward'], inputs)\n"
)
available = torch.classes.__backends__.test_backend_unavailable().is_available()
print("is_available():", available, "compile and execute:", inner.probe([torch.ones(2), torch.ones(2)]))
sys.exit(not available)
