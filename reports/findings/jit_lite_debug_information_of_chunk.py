"""TorchScript: a part of `chunk`, saved for the lite interpreter with debug information, cannot be loaded.

"Source range tag must exist in deserialized source range map": the operators that `chunk` becomes have a range that is
not among those that were saved. Without debug information it is loaded and right, and so it is with it where the module
was saved by `torch.jit.save`, and loaded, before.
"""

import io
import sys

import torch
from torch.jit.mobile import _load_for_lite_interpreter


class FirstHalf(torch.nn.Module):
    """One of two halves."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The first."""
        return x.chunk(2, 1)[0] + 1.0


x = torch.arange(8.0).reshape(2, 4)
scripted = torch.jit.script(FirstHalf().eval())
for with_debug_information in (False, True):
    saved = scripted._save_to_buffer_for_lite_interpreter(_save_mobile_debug_info=with_debug_information)
    try:
        found = _load_for_lite_interpreter(io.BytesIO(saved)).forward(x)
    except RuntimeError as error:
        sys.exit(f"with debug information {with_debug_information}: {str(error).splitlines()[0]}")
    if not torch.equal(found, scripted(x)):
        sys.exit(f"expected {scripted(x).tolist()}, found {found.tolist()}")
