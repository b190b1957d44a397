"""iree: an integer divided by zero gives a value.

Expected: RuntimeError: ZeroDivisionError.
"""

import sys

import torch


def model(x, y):
    return x // y


def outcome(backend, *arguments):
    torch._dynamo.reset()
    try:
        return f"a result, {torch.compile(model, backend=backend)(*arguments)}"
    except (IndexError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


expected = outcome("eager", torch.tensor([1]), torch.tensor([0]))
print(f"eager: {expected}")
found = outcome("turbine_cpu", torch.tensor([1]), torch.tensor([0]))
print(f"turbine_cpu: {found}")
sys.exit(found.startswith("a result"))
