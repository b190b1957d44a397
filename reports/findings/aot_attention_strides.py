"""core_aten_decompositions: the result of scaled_dot_product_attention lies in memory otherwise than the kernel's.

Expected: the strides that eager PyTorch, AOT Autograd without decompositions and Inductor give: code that views the
result raises, or is captured otherwise.
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


def model(x):
    return torch.nn.functional.scaled_dot_product_attention(x, x, x)


for name, backend in {"eager": "eager", "aot_eager": "aot_eager", "inductor": "inductor", "core": decomposed}.items():
    found = torch.compile(model, backend=backend)(torch.ones(1, 2, 5, 4))
    print(f"{name}: {found.stride()}")
sys.exit(found.stride() != model(torch.ones(1, 2, 5, 4)).stride())
