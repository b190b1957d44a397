"""openvino: nothing is compiled when a frame is; the first call of the code compiles it, and its errors come then.

Expected: that what cannot be compiled is told of when the frame is compiled, as by other backends.
"""

import sys

import torch
from openvino.frontend.pytorch.torchdynamo import execute

compiled_by_openvino = []
original = execute.openvino_compile


def noting(*arguments, **keywords):
    compiled_by_openvino.append(True)
    return original(*arguments, **keywords)


class Lowered(BaseException):
    """In place of the first call of the code."""


def up_to_the_first_call(graph, example_inputs):
    torch._dynamo.lookup_backend("openvino")(graph, example_inputs)
    raise Lowered


execute.openvino_compile = noting
x, y = torch.ones(3), torch.ones(3)
print(f"eager: {(torch.relu(x - y) * 2 - y).tolist()}")
try:
    torch.compile(lambda x, y: torch.relu(x - y) * 2 - y, backend=up_to_the_first_call)(x, y)
except Lowered:
    print(f"programs that OpenVINO has compiled when the frame is lowered: {len(compiled_by_openvino)}")
before = len(compiled_by_openvino)
torch._dynamo.reset()
torch.compile(lambda x, y: torch.relu(x - y) * 2 - y, backend="openvino")(x, y)
print(f"and when it was called: {len(compiled_by_openvino)}")
sys.exit(before == 0 and bool(compiled_by_openvino))
