"""Vulkan, a delegate of ExecuTorch: its debug handle map names places in its own graph, and not the model's handles.

What a profiler shows for an operator of the delegate is then another operator of the model, or none.
"""

import sys

import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.lowered_backend_module import get_lowered_submodules

exported = torch.export.export(torch.nn.Linear(4, 3), (torch.ones(2, 4),))
lowered = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()])
((_, part, _),) = get_lowered_submodules(lowered.exported_program().graph_module)
nodes = part.original_module.graph.nodes
expected = {node.meta["debug_handle"] for node in nodes if "debug_handle" in node.meta}
found = {handle for handles in part.meta["debug_handle_map"].values() for handle in handles}
if not found <= expected:
    sys.exit(f"expected handles among {expected}, found {found}")
