"""tvm: the product of matrices is float32 whatever they are: int64, float16, float64.

Expected: the dtype of the operands, and for float64 its precision.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x, y):
    return (x @ x, y @ y)


wrong = False
for name, backend in (("eager", "eager"), ("relax_dynamo", relax_dynamo())):
    torch._dynamo.reset()
    arguments = (torch.full((2, 2), 8.0, dtype=torch.float16), torch.full((1, 1), 1 + 2**-30, dtype=torch.float64))
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{name}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
