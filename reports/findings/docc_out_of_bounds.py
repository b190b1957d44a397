"""docc: an index out of bounds gives a value.

Expected: IndexError, as eager PyTorch raises, or another error.
"""

import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch


def model(x, index):
    return x[index]


def outcome(function, *arguments):
    try:
        return f"a value, {function(*arguments).tolist()}"
    except Exception as error:
        return "refused" if "index" in str(error) else repr(error)


wrong = False
for backend in ("eager", "docc"):
    torch._dynamo.reset()
    arguments = (torch.arange(3.0), torch.tensor([5000]))
    expected = outcome(model, *arguments)
    found = outcome(torch.compile(model, backend=backend), *arguments)
    print(f"{backend}: {found}; without torch.compile {expected}")
    wrong |= repr(found) != repr(expected)
sys.exit(wrong)
