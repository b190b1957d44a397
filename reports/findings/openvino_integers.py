"""openvino: int64 is computed in 32 bits, and uint8 saturates where PyTorch wraps around; the dtypes stay the same."""

import sys

import torch


def model(x, y):
    return (x + y) * 3 - y


wrong = False
for arguments in (
    (torch.tensor([2**40]), torch.tensor([1])),
    (torch.tensor([200], dtype=torch.uint8), torch.tensor([250], dtype=torch.uint8)),
):
    expected = model(*arguments)
    for backend in ("eager", "aot_eager", "openvino"):
        torch._dynamo.reset()
        found = torch.compile(model, backend=backend)(*arguments)
        print(f"{backend}: {found}; without torch.compile {expected}")
        wrong |= not torch.equal(found, expected)
sys.exit(wrong)
