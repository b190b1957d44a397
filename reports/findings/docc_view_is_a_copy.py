"""docc: a view that a model gives of its argument is a copy, where it is compiled without gradients.

Expected: the argument's own memory: what is written to one is seen in the other.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    return x.view(-1)


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.ones(2, 3),)
    expected = True
    with torch.no_grad():
        found = torch.compile(model, backend=backend)(*arguments).data_ptr() == arguments[0].data_ptr()
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
