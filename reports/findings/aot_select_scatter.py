"""core_aten_decompositions: torch.select_scatter takes the dtype of what is put in, where the two are different.

Expected: the dtype of the tensor that is put into, as eager PyTorch, AOT Autograd without decompositions and Inductor,
which has a lowering of its own, give it.
"""

import sys

import torch
from functorch.compile import make_boxed_func
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd


def decomposed(graph, example_inputs):
    def compiled(aten, inputs):
        return make_boxed_func(aten.forward)

    return aot_autograd(fw_compiler=compiled, decompositions=core_aten_decompositions())(graph, example_inputs)


def model(x, y):
    return torch.select_scatter(x, y, 0, 0)


for name, backend in {"eager": "eager", "aot_eager": "aot_eager", "inductor": "inductor", "core": decomposed}.items():
    found = torch.compile(model, backend=backend)(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0.5, 1.5]))
    print(f"{name}: {found.dtype} {found.tolist()}")
sys.exit(found.dtype != torch.int64)
