"""One model in other dtypes than float32."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


class _Arithmetic(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x + y, x * y - y


@case("float64", f.float64, f.elementwise, samples=twice(lambda make: (make.doubles(3, 4), make.doubles(3, 4))))
class Float64(_Arithmetic):
    """Bits that float32 cannot hold."""


@case(
    "float16",
    f.half_precision,
    f.elementwise,
    samples=twice(lambda make: (make.floats(3, 4, dtype=torch.float16), make.floats(3, 4, dtype=torch.float16))),
)
class Float16(_Arithmetic):
    """Half precision."""


@case(
    "bfloat16",
    f.half_precision,
    f.elementwise,
    samples=twice(lambda make: (make.floats(3, 4, dtype=torch.bfloat16), make.floats(3, 4, dtype=torch.bfloat16))),
)
class BFloat16(_Arithmetic):
    """The other half precision."""


@case(
    "int64",
    f.integers,
    f.elementwise,
    samples=twice(lambda make: (make.integers(3, 4, low=2**33, high=2**34), make.integers(3, 4))),
)
class Int64(_Arithmetic):
    """Values beyond 2**32."""


@case(
    "int32",
    f.integers,
    f.elementwise,
    samples=twice(
        lambda make: (
            make.integers(3, 4, low=2**24, high=2**26, dtype=torch.int32),
            make.integers(3, 4, dtype=torch.int32),
        )
    ),
)
class Int32(_Arithmetic):
    """Values that float32 cannot hold."""


@case("booleans", f.booleans, samples=twice(lambda make: (make.booleans(3, 4), make.floats(3, 4), make.floats(3, 4))))
class Booleans(torch.nn.Module):
    def forward(self, chosen: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.where(chosen, x, y), torch.logical_and(chosen, x > y)


@case("mixed_dtypes", f.mixed_dtypes, f.integers, samples=twice(lambda make: (make.floats(3, 4), make.integers(3, 4))))
class MixedDtypes(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y
