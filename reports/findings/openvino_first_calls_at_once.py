"""openvino: a call fails that is made while another thread makes the first one.

The first call takes the graph apart, though it is compiled and other threads find it: it deletes a part (``fused_0``)
and puts another in its place. The second thread calls in between: here by force, in ``modes.threads-lower`` by chance.
"""

import sys
import threading
from unittest import mock

import torch


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)) * 2 - x


def errors_of_a_second_thread(compiled, x):
    errors = []

    def call():
        try:
            with torch.no_grad():
                compiled(x)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    def call_between(graph, name, part):
        if type(part).__name__ == "OpenVINOGraphModule":  # and not while the graph is still being lowered
            second = threading.Thread(target=call)
            second.start()
            second.join()
        return add_submodule(graph, name, part)

    add_submodule = torch.fx.GraphModule.add_submodule
    with mock.patch.object(torch.fx.GraphModule, "add_submodule", call_between):
        call()
    return errors


failed = False
for backend, options in (
    ("eager", None),
    ("aot_eager", None),
    ("openvino", None),
    ("openvino", {"aot_autograd": True}),
):
    torch._dynamo.reset()
    compiled = torch.compile(Scaled().eval(), backend=backend, options=options)
    errors = errors_of_a_second_thread(compiled, torch.randn(4, 8))
    failed |= bool(errors)
    print(f"{backend} {options or ''}: {'; '.join(errors) or 'no error'}")
sys.exit(failed)
