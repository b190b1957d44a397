"""Lite interpreter: a method that is called with arguments of other types ends the process instead of raising."""

import io

import torch
from torch.jit.mobile import _load_for_lite_interpreter


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


data = torch.jit.script(Add())._save_to_buffer_for_lite_interpreter()
_load_for_lite_interpreter(io.BytesIO(data)).run_method("forward", "text", 7)
