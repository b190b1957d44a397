"""docc: a tensor of complex numbers ends the process with SIGSEGV while it is compiled.

Expected: what eager PyTorch gives, or an error.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x):
    return x * x


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.tensor([1 + 2j]),)
    expected = model(*arguments)
    found = torch.compile(model, backend=backend)(*arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
