"""openvino: once it was used, Dynamo is configured otherwise for the models of every other backend.

Expected: that Dynamo's configuration is what it was.
"""

import sys

import torch

changed = False
for backend in ("eager", "aot_eager", "openvino"):
    torch._dynamo.reset()
    before = torch._dynamo.config.save_config_portable()
    torch.compile(lambda x, y: torch.relu(x - y) * 2 - y, backend=backend)(torch.randn(4), torch.randn(4))
    after = torch._dynamo.config.save_config_portable()
    found = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    changed |= bool(found)
    print(f"{backend}: {found or 'as it was'}")
sys.exit(changed)
