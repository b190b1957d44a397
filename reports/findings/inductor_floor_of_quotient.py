"""Inductor: a floor division of floats is one too large where the quotient is rounded up (see pytorch/pytorch#197895).

Expected: `1.0 // 0.1` is 9, as in Python, since 0.1 is a little more than a tenth; `floor(1.0 / 0.1)` is 10.
"""

import sys

import torch

x = torch.tensor([1.0, 0.5, 6.0])
expected = x // 0.1
wrong = False
for backend in ("eager", "aot_eager", "inductor"):
    found = torch.compile(lambda each: each // 0.1, backend=backend)(x)
    wrong = wrong or (backend == "inductor" and not torch.equal(found, expected))
    print(f"{backend}: {found}")
sys.exit(wrong)
