"""openvino: where two threads call at one time, all later calls run in PyTorch, and nothing says so.

Expected: that OpenVINO goes on to compute the calls, or says that it does not.
"""

import sys
import threading

import torch
from torch.profiler import ProfilerActivity, profile


def products_of_pytorch(function, *arguments):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        function(*arguments)
    return sum(event.name == "aten::mm" for event in profiler.events())


def work(function, *arguments):
    for _ in range(20):
        function(*arguments)


x = torch.randn(500, 500)
gave_up = False
for backend, options in (
    ("eager", None),
    ("aot_eager", None),
    ("openvino", None),
    ("openvino", {"aot_autograd": True}),
):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.relu(x @ x) * 2 - x, backend=backend, options=options)
    compiled(x)
    before = products_of_pytorch(compiled, x)
    threads = [threading.Thread(target=work, args=(compiled, x)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = products_of_pytorch(compiled, x)
    gave_up |= after != before
    print(
        f"{backend} {options or ''}: products that PyTorch computes in a call: {before}, and {after} after four threads"
    )
sys.exit(gave_up)
