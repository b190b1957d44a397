"""iree: dropout draws other numbers after each call, whatever torch.manual_seed says.

Expected: the same numbers after the same seed, as the documentation of torch.manual_seed has it.
"""

import sys

import torch

wrong = False
for backend in ("eager", "turbine_cpu"):
    torch._dynamo.reset()
    model = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5, True), backend=backend)
    drawn = []
    for _ in range(2):
        torch.manual_seed(0)
        drawn.append(model(torch.ones(8)).tolist())
    print(f"{backend}: {drawn[0]} and, after the same seed, {drawn[1]}")
    wrong |= drawn[0] != drawn[1]
sys.exit(wrong)
