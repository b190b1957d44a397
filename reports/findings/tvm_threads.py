"""tvm: compiled code that several threads call at once fails, gives wrong results, or ends the process with SIGSEGV.

Expected: each thread gets the result for its own argument: code that torch.compile made may be called from any thread.
"""

import sys
import threading

import torch
from tvm.relax.frontend.torch import relax_dynamo


def model(x):
    return (x * 2 + 1, x - 3, torch.relu(x))


def called_at_once(backend):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend)
    compiled(torch.zeros(64, 64))
    wrong = []

    def call(value):
        argument = torch.full((64, 64), value)
        for _ in range(5000):
            try:
                if not all(map(torch.equal, compiled(argument), model(argument))):
                    wrong.append("another result")
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {str(error).splitlines()[0][:80]}")

    threads = [threading.Thread(target=call, args=(float(number),)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return wrong


print(f"eager: {len(called_at_once('eager'))} of 40000 calls are wrong")
wrong = called_at_once(relax_dynamo())
print(f"relax_dynamo: {len(wrong)} of 40000 calls are wrong, such as {sorted(set(wrong))[:2]}")
sys.exit(bool(wrong))
