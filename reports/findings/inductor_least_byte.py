"""Inductor on CPU: the least of twelve bytes is 1, though none is less than 20.

So it is along two dimensions, and of all; of rows of four, of int32, and the largest, it is right.
"""

import sys

import torch


def darkest(picture: torch.Tensor) -> torch.Tensor:
    """The least of each picture."""
    return picture.amin([1, 2])


pictures = torch.randint(20, 256, (2, 3, 4), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
compiled = torch.compile(darkest, backend="inductor")
assert torch.equal(compiled(pictures.to(torch.int32)), darkest(pictures.to(torch.int32))), "of int32 it is wrong, too"
found = compiled(pictures)
if not torch.equal(found, darkest(pictures)):
    sys.exit(f"expected {darkest(pictures).tolist()}, found {found.tolist()}")
