"""ExecuTorch's Python runtime ends the process where a delegate logs a text that is not UTF-8, as XNNPACK does.

XNNPACK refuses a blob that is none of its own with DelegateInvalidCompatibility, and logs the four bytes that stand
where its identifier ought to be. Where these are zeros or letters, loading the method raises RuntimeError, as it
should. The program without a delegate, by ExecuTorch's own kernels, is loaded beside them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary

LOAD = """
import sys
from executorch.runtime import Runtime

try:
    Runtime.get().load_program(sys.argv[1]).load_method("forward")
except RuntimeError as error:
    print(f"refused: {error}")
else:
    print("loaded")
"""


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


def program(partitioner):
    exported = torch.export.export(Add(), (torch.ones(2, 3), torch.ones(2, 3)))
    return to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch().buffer


def with_blob(data, blob):
    file = deserialize_pte_binary(data)
    file.program.backend_delegate_data[0].data = blob
    return bytes(serialize_pte_binary(file, extract_delegate_segments=True))


def outcome(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.pte")
        path.write_bytes(data)
        child = subprocess.run([sys.executable, "-c", LOAD, path], capture_output=True, text=True, errors="replace")
    return child.stdout.strip() if child.returncode == 0 else f"the process ended with {child.returncode}"


delegated = program([XnnpackPartitioner()])
for what, data, expected in (
    ("the program without a delegate", program(None), "loaded"),
    ("XNNPACK's program", delegated, "loaded"),
    ("zeros for its blob", with_blob(delegated, bytes(400)), "refused"),
    ("letters for its blob", with_blob(delegated, b"blob" * 100), "refused"),
    ("ones for its blob", with_blob(delegated, b"\xff" * 400), "refused"),
):
    found = outcome(data)
    if not found.startswith(expected):
        sys.exit(f"{what}: expected {expected}, found: {found}")
