"""Lite interpreter: an operator's index in an archive is not held against the number of operators.

Expected: an error that says that the archive is damaged. The name of an instruction that does not exist, one bit away
from one that does, is taken for ``OP``; here that is OP 2 of one operator. The loader reads that operator's name from
memory that is not its own: one process dies of SIGSEGV, another says ``std::bad_alloc``.
"""

import io
import os
import signal
import sys

import torch
from torch.jit.mobile import _load_for_lite_interpreter

module = torch.jit.script(torch.nn.Module())
module.define("def forward(self, x, y):\n    return x + y\n")
print(f"eager: {module(torch.ones(2), torch.ones(2)).tolist()}", flush=True)
data = module._save_to_buffer_for_lite_interpreter()
at = data.index(b"MOVE", data.index(b"bytecode.pkl"))


def answer(changed: bytes) -> str:
    """What a child process says of an archive: what the loader raises, or what the process dies of."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            _load_for_lite_interpreter(io.BytesIO(changed))
            said = "nothing: it is loaded"
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        said = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return signal.Signals(-status).name if status < 0 else said


answers = {
    f"{data[at] ^ 1 << bit:#04x}": answer(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]) for bit in range(8)
}
for byte, said in answers.items():
    print(f"{byte} for the M of MOVE: {said}")
sys.exit(not all(said.startswith("RuntimeError: ") for said in answers.values()))
