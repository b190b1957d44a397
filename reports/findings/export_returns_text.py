"""torch.export.save writes a program that returns a text, and torch.export.load cannot read it.

Expected: a program that returns the text, or a refusal when it is saved.
"""

import io
import sys

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1, "text"


program = torch.export.export(Model(), (torch.ones(3),))
print("eager:", Model()(torch.ones(3)))
print("exported:", program.module()(torch.ones(3)))
buffer = io.BytesIO()
torch.export.save(program, buffer)
buffer.seek(0)
try:
    torch.export.load(buffer)
except RuntimeError as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(1)
sys.exit(0)
