"""tvm: BatchNorm2d of an evaluated network is refused: 'Unsupported function types'.

Expected: the importer converts the module BatchNorm2d, as it does Embedding, and not the functions that
Dynamo inlines them to.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, mean, variance):
    return torch.nn.functional.batch_norm(x, mean, variance)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.ones(1, 2, 2, 2), torch.zeros(2), torch.ones(2))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
