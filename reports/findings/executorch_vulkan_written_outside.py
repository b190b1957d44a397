"""ExecuTorch's helper for partitioners: a buffer that a part reads, and a node outside of it writes, ends lowering.

Expected: a buffer that stays the program's. `tag_mutated_buffer`, by which the Vulkan, Core ML, MLX and QNN
partitioners tag buffers, asks who reads a buffer and not who writes it; `to_backend` then moves it into the delegate,
and the write has nothing left to go to. The same program lowers without a delegate.
"""

import sys

import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.exir import to_edge_transform_and_lower


class Remembering(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        result = x + self.total
        self.total.copy_(torch.cumsum(x, 0))  # a scan, which Vulkan's delegate does not take
        return result


for partitioner in (None, [VulkanPartitioner()]):
    exported = torch.export.export(Remembering().eval(), (torch.ones(4),))
    try:
        to_edge_transform_and_lower(exported, partitioner=partitioner)
    except Exception as error:
        who = "by Vulkan" if partitioner else "without a delegate"
        sys.exit(f"lowered {who}: {type(error).__name__}: {str(error).splitlines()[0]}")
