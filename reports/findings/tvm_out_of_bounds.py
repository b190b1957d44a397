"""tvm: an index out of bounds gives a value, read from behind the tensor.

Expected: IndexError.
"""

import sys

import torch
from tvm.relax.frontend.torch import relax_dynamo


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
found = outcome(relax_dynamo(), torch.ones(3), torch.tensor([5]))
print(f"relax_dynamo: {found}")
sys.exit(found.startswith("a result"))
