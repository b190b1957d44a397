"""aot_compile with a backend whose code cannot be saved: of one built on aot_autograd nothing says what is missing.

Expected: that SerializableCallable is named, as for the plain backend.
"""

import sys
import tempfile

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 - 1


def plain(graph, example_inputs):
    return graph.forward


def boxed(graph, example_inputs):
    return make_boxed_func(graph.forward)


said = []
print(f"eager: {Model()(torch.ones(3)).tolist()}")
for name, backend in (("a plain backend", plain), ("a backend built on aot_autograd", aot_autograd(fw_compiler=boxed))):
    torch._dynamo.reset()
    try:
        compiled = torch.compile(Model(), backend=backend, fullgraph=True)
        compiled.forward.aot_compile(((torch.ones(3),), {})).save_compiled_function(tempfile.mktemp())
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
        print(f"{name}: {said[-1]:.200}")
sys.exit("Serializable" in said[0] and "Serializable" not in said[1])
