"""Inductor on CPU: `torch.expm1` of small numbers has lost its digits.

It is what `exp(x) - 1` gives: of 1e-6 the relative error is some hundredths, where eager PyTorch has all digits. That
is what `expm1` is for: returns of a day, decays of a step.
"""

import sys

import torch


def growth(x: torch.Tensor) -> torch.Tensor:
    """What is gained, in ten thousandths."""
    return torch.expm1(x * 2.0) * 1e4


x = torch.tensor([1e-6, 3e-6, -2e-6, 5e-7] * 8)
exact = growth(x.double())
assert torch.allclose(growth(x).double(), exact, rtol=1e-5), "eager PyTorch is wrong, too"
found = torch.compile(growth, backend="inductor")(x)
if not torch.allclose(found.double(), exact, rtol=1e-5):
    sys.exit(f"expected {exact[:4].tolist()}, found {found[:4].tolist()}")
