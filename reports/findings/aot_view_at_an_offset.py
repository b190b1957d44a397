"""AOT Autograd: with dynamic sizes a result that is a view of an argument is read from where the backend's copy of the
argument begins in its own memory, and not from where the argument does: other elements, where that begins later."""

import sys

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


def model(x):
    return x[0:].reshape(1, -1)


def copied(x):
    """What a backend whose memory is elsewhere has of an argument: the same sizes, strides and elements."""
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype).copy_(x) if isinstance(x, torch.Tensor) else x


def on_copies(graph, example_inputs):
    return make_boxed_func(lambda *arguments: graph(*map(copied, arguments)))


x = torch.arange(10.0)[1::2]
expected = model(x)
print(f"eager: {expected.tolist()}")
found = {}
for dynamic in (False, True):
    torch._dynamo.reset()
    found[dynamic] = torch.compile(model, backend=aot_autograd(fw_compiler=on_copies), dynamic=dynamic)(x)
    print(f"on copies, dynamic={dynamic}: {found[dynamic].tolist()}")
sys.exit(not torch.equal(found[True], expected))
