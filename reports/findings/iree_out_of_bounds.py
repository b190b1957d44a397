"""iree: an index out of bounds gives a value.

Expected: IndexError.
"""

import sys

import torch


def model(x, index):
    return x[index]


def outcome(backend, *arguments):
    torch._dynamo.reset()
    try:
        return f"a result, {torch.compile(model, backend=backend)(*arguments)}"
    except (IndexError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


expected = outcome("eager", torch.ones(3), torch.tensor([5]))
print(f"eager: {expected}")
found = outcome("turbine_cpu", torch.ones(3), torch.tensor([5]))
print(f"turbine_cpu: {found}")
sys.exit(found.startswith("a result"))
