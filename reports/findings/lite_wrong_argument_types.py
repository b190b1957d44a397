"""Lite interpreter: a method that is called with arguments of other types ends the process instead of raising.

Expected: the error that a scripted module raises.
"""

import io

import torch
from torch.jit.mobile import _load_for_lite_interpreter


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


print(f"eager: {Add()(torch.ones(2), torch.ones(2)).tolist()}")
try:
    torch.jit.script(Add())("text", 7)
except RuntimeError as error:
    print(f"scripted: {str(error).splitlines()[0]}")
data = torch.jit.script(Add())._save_to_buffer_for_lite_interpreter()
_load_for_lite_interpreter(io.BytesIO(data)).run_method("forward", "text", 7)
