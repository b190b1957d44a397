"""ExecuTorch's own kernels: a product of matrices over no elements is whatever its memory held, and not zeros.

Eigen refuses the call, which says "Eigen BLAS ERROR #10: SGEMM" on stderr; the kernel goes on as if it had written.
"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Product(torch.nn.Module):
    def forward(self, x, y, z):
        total = z.exp().sum()  # the memory of z.exp() is that of the product afterwards
        return x @ y, total


inputs = torch.zeros(2, 0), torch.zeros(0, 3), torch.ones(2, 3)
expected = Product()(*inputs)[0]
lowered = to_edge_transform_and_lower(torch.export.export(Product(), inputs, strict=True))
program = Runtime.get().load_program(lowered.to_executorch().buffer)
found = program.load_method("forward").execute(inputs)[0]
if not torch.equal(found, expected):
    sys.exit(f"expected {expected}, found {found}")
