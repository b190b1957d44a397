"""iree: an embedding of an index that is negative gives a value.

Expected: IndexError.
"""

import sys

import torch


def model(weight, index):
    return torch.nn.functional.embedding(index, weight)


def outcome(backend, *arguments):
    torch._dynamo.reset()
    try:
        return f"a result, {torch.compile(model, backend=backend)(*arguments)}"
    except (IndexError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


expected = outcome("eager", torch.ones(3, 2), torch.tensor([-1]))
print(f"eager: {expected}")
found = outcome("turbine_cpu", torch.ones(3, 2), torch.tensor([-1]))
print(f"turbine_cpu: {found}")
sys.exit(found.startswith("a result"))
