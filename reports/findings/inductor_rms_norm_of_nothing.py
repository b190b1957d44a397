"""Inductor: the way back through an RMS norm of complex numbers of which there are none cannot be compiled.

Expected: gradients without elements, as in eager PyTorch and with AOT Autograd; Inductor gives them where there are
rows. It views the real parts of an expanded tensor as complex ones: "self.stride(-1) must be 1 to view Float as
ComplexFloat".
"""

import logging
import sys

import torch

logging.disable(logging.CRITICAL)
weight = torch.ones(1, dtype=torch.complex64)
for backend in ("eager", "aot_eager", "inductor"):
    norm = torch.compile(lambda x: torch.nn.functional.rms_norm(x, (1,), weight), backend=backend)
    for rows in (2, 0):
        x = torch.ones(rows, 1, dtype=torch.complex64, requires_grad=True)
        try:
            norm(x).abs().sum().backward()
        except Exception as error:
            line = next(each for each in str(error).splitlines() if "RuntimeError" in each)
            print(f"{backend}: {type(error).__name__} of {rows} rows: {line}")
            sys.exit(1)
        print(f"{backend}: gradients of {rows} rows: {list(x.grad.shape)}")
