"""ExecuTorch's own kernels, without a delegate: `torch.fmod` of large whole numbers is that of the floats next to them.

What is beyond 2**53 loses its last digits before it is divided, and the remainder is another number: of a hash that
spreads words over buckets, another bucket. Whole numbers divided by `torch.div` are right, however large they are.
"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Buckets(torch.nn.Module):
    """Which of 1,009 buckets a word belongs to."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """For each word."""
        return torch.fmod(ids * 1000003 + 12345, 1009)


model = Buckets().eval()
for words in ([5, 16777217], [123456789012, 4294967301]):
    ids = torch.tensor(words)
    exported = torch.export.export(model, (ids,))
    program = Runtime.get().load_program(to_edge_transform_and_lower(exported).to_executorch().buffer)
    (found,) = program.load_method("forward").execute((ids,))
    if not torch.equal(found, model(ids)):
        sys.exit(f"of {words}: expected {model(ids).tolist()}, found {found.tolist()}")
