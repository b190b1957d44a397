"""openvino: after one compile with the option aot_autograd, what is compiled without it runs in Inductor, unsaid.

Expected: that a compile without options is what it was before.
"""

import sys

import torch
from openvino.frontend.pytorch.torchdynamo import backend

compiled_by_inductor = []
original = backend.compile_fx


def noting(*arguments, **keywords):
    compiled_by_inductor.append(True)
    return original(*arguments, **keywords)


backend.compile_fx = noting
x, y = torch.ones(3), torch.ones(3)
print(f"eager: {(torch.relu(x - y) * 2 - y).tolist()}")
torch.compile(lambda x, y: torch.relu(x - y) * 2 - y, backend="openvino")(x, y)
before = len(compiled_by_inductor)
torch.compile(lambda x, y: torch.relu(x + y) - y / 2, backend="openvino", options={"aot_autograd": True})(x, y)
torch.compile(lambda x, y: torch.relu(x * y) - y * 3, backend="openvino")(x, y)
print(f"graphs without options that Inductor compiled: {before} before the compile with aot_autograd")
print(f"and {len(compiled_by_inductor)} afterwards")
sys.exit(len(compiled_by_inductor) > before)
