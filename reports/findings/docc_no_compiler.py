"""docc: where the compiler that it starts is not installed, the process ends with SIGABRT.

Expected: an error that says which program is missing. Without a variable it is clang++-21, which few systems have.
"""

import os
import sys

import docc.torch  # noqa: F401  (registers the backend)
import torch

os.environ["DOCC_BACKEND_COMPILER"] = "clang++-that-is-not-installed"


def model(x):
    return x * 2 + 1


for backend in ("eager", "docc"):
    torch._dynamo.reset()
    try:
        print(f"{backend}: {torch.compile(model, backend=backend)(torch.ones(3))}")
    except Exception as error:
        print(f"{backend}: {type(error).__name__}")
sys.exit(0)
