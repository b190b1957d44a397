"""ExecuTorch's helper for partitioners: a buffer that two parts read is the state of each, and only one of them writes.

Expected: one state. `tag_mutated_buffer`, by which the Vulkan, Core ML, MLX and QNN partitioners tag buffers, gives one
that several parts use to one of these, although it says that it tags those whose users are all in one partition. The
others get a copy that nobody writes: each call computes with what the buffer was at first, and nothing says so.
Vulkan's partitioner shows it ahead of time; without a delegate the program has the buffer, and writes it.
"""

import sys

import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.lowered_backend_module import get_lowered_submodules


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        scanned = torch.cumsum(x + self.total, 0)  # a scan, which Vulkan's delegate does not take
        result = scanned * 3.0 + self.total
        self.total.add_(x)
        return result


for partitioner in (None, [VulkanPartitioner()]):
    exported = torch.export.export(Counting().eval(), (torch.ones(4),))
    lowered = to_edge_transform_and_lower(exported, partitioner=partitioner).exported_program()
    parts = {
        name: part.original_module.graph_signature for name, part, _ in get_lowered_submodules(lowered.graph_module)
    }
    parts |= {"the program": lowered.graph_signature}
    reads = {name for name, signature in parts.items() if "total" in signature.inputs_to_buffers.values()}
    writes = {name for name, signature in parts.items() if "total" in signature.buffers_to_mutate.values()}
    if reads != writes:
        who = "by Vulkan" if partitioner else "without a delegate"
        sys.exit(f"{who} {sorted(reads)} have the buffer, each its own, and {sorted(writes)} alone writes it")
