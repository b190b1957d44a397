"""tvm: a program that torch.export made cannot be compiled: the importer knows no overloads such as 'add.Tensor'.

Expected: what eager PyTorch gives: the module of an exported program is a module like any other.
"""

import torch
from tvm.relax.frontend.torch import relax_dynamo


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + y


arguments = (torch.ones(3), torch.ones(3))
program = torch.export.export(Model(), arguments).module()
print(f"eager: {torch.compile(program, backend='eager')(*arguments)}")
torch._dynamo.reset()
print(f"relax_dynamo: {torch.compile(program, backend=relax_dynamo())(*arguments)}")
