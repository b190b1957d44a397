"""What the zygote of TorchScript devices does ahead of them. Runs no operator: everything is on the meta device."""

from __future__ import annotations

import io

import torch
import torch.jit.mobile
import torch.utils.bundled_inputs

import conformance.toolchains.torchscript.verbs  # noqa: F401
from conformance.api.case import case_named, registered_cases


def warm_up() -> None:
    """Let PyTorch read what every child would have to: schemas, gradients, the sources of the corpus.

    A dictionary is looked up, which makes the JIT load its tables (25 ms); the models of the corpus are scripted on the
    meta device, where nothing is computed (10 ms a model); one is saved and loaded (3 ms).
    """
    unit = torch.jit.CompilationUnit("def look_up(table: Dict[str, int]) -> int:\n    return table['key']\n")
    for _ in range(2):
        unit.look_up({"key": 1})
    with torch.device("meta"):
        for case in registered_cases():
            if case.toolchain != "torchscript" or not case.everywhere:
                continue
            torch.jit.script(case.module_class().eval())
        plain = torch.jit.script(case_named("add", "torchscript").module_class().eval())
        torch.jit.load(io.BytesIO(plain.save_to_buffer()))
        torch.jit.mobile._load_for_lite_interpreter(io.BytesIO(plain._save_to_buffer_for_lite_interpreter()))


def touch_memory() -> None:
    """Do once what a device will do first."""
    with torch.device("meta"):
        torch.jit.script(case_named("submodules", "torchscript").module_class().eval())
