"""docc: a model that is compiled without gradients does not write to its argument.

Expected: the argument is written to.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    x.add_(1)
    return x * 2


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.ones(3),)
    expected = (torch.full((3,), 4.0), torch.full((3,), 2.0))
    with torch.no_grad():
        found = (torch.compile(model, backend=backend)(*arguments), arguments[0])
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
