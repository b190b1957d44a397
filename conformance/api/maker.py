"""Sample inputs of cases, made from a seed."""

from __future__ import annotations

import torch


class Maker:
    """Makes tensors from one generator, so that a seed and a case name determine every input."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def floats(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Normally distributed values."""
        return torch.randn(shape, generator=self._generator).to(dtype)

    def doubles(self, *shape: int) -> torch.Tensor:
        """Normally distributed values in float64, with bits that float32 cannot hold."""
        return torch.randn(shape, generator=self._generator, dtype=torch.float64)

    def positive(self, *shape: int) -> torch.Tensor:
        """Values from 0.5 to 1.5."""
        return torch.rand(shape, generator=self._generator) + 0.5

    def integers(self, *shape: int, low: int = -9, high: int = 10, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Integers from ``low`` up to, not including, ``high``."""
        return torch.randint(low, high, shape, generator=self._generator, dtype=dtype)

    def booleans(self, *shape: int) -> torch.Tensor:
        """Fair coin flips."""
        return torch.randint(0, 2, shape, generator=self._generator).to(torch.bool)

    def complex(self, *shape: int) -> torch.Tensor:
        """Values in complex64, both parts normally distributed."""
        return torch.complex(self.floats(*shape), self.floats(*shape))

    def number(self, low: int = 2, high: int = 9) -> int:
        """One Python integer."""
        return int(self.integers(1, low=low, high=high))
