"""XNNPACK, a delegate of ExecuTorch: a program whose weights lie in a .ptd ends the process where that is not given.

Loading it should be refused with an error, as it is by ExecuTorch's own kernels.
"""

import signal
import subprocess
import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from executorch.runtime import Runtime


def load_without_its_data():
    """Lower a linear layer whose weights are tagged for a file, and load the program without the file."""
    inputs = (torch.zeros(5, 4),)
    model = torch.export.export(torch.nn.Linear(4, 3), inputs).module()
    delegate_external_constants_pass_unlifted(model, gen_tag_fn=lambda node: "weights")
    lowered = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    try:
        program.load_method("forward")
    except RuntimeError:
        sys.exit(0)


if "child" in sys.argv:
    load_without_its_data()
else:
    child = subprocess.run([sys.executable, __file__, "child"], capture_output=True, check=False)
    if child.returncode < 0:
        sys.exit(f"expected an error, found that the process ended with {signal.Signals(-child.returncode).name}")
