"""zentorch: after one compile with it, what Inductor compiles for its own backend runs zentorch's operators too.

Expected: a backend leaves what others compile alone. The pass is left in `torch._inductor.config`, for the process.
"""

import sys

import torch
import zentorch  # noqa: F401  (registers the backend)


def zentorch_operators(backend):
    """Which operators of zentorch's run when a product of matrices is compiled by a backend, and called."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, weight: torch.nn.functional.linear(x, weight), backend=backend)
    arguments = (torch.ones(8, 16), torch.ones(4, 16))
    with torch.no_grad():
        compiled(*arguments)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            compiled(*arguments)
    return sorted({event.key for event in profile.key_averages() if "zentorch" in event.key})


print(f"eager: {zentorch_operators('eager')}")
before = zentorch_operators("inductor")
zentorch_operators("zentorch")
torch._inductor.config.force_disable_caches = True  # else the code from before is taken again
after = zentorch_operators("inductor")
print(f"inductor: {before}; after one compile with zentorch: {after}")
sys.exit(before != after)
