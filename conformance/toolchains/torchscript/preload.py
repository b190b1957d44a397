"""What the zygote of TorchScript devices does ahead of them. Runs no operator: everything is on the meta device."""

from __future__ import annotations

import io
from collections.abc import Iterator

import torch
import torch.jit.mobile
import torch.utils.bundled_inputs

import conformance.toolchains.torchscript.verbs  # noqa: F401
from conformance.api.case import Case, case_named, registered_cases


def warm_up() -> Iterator[None]:
    """Let PyTorch read what every child would have to: schemas, gradients, and in further steps the corpus's sources.

    A dictionary is looked up, which makes the JIT load its tables (25 ms); a model is scripted on the meta device,
    where nothing is computed, saved and loaded (13 ms); each step scripts another model of the corpus (10 ms).
    """
    unit = torch.jit.CompilationUnit("def look_up(table: Dict[str, int]) -> int:\n    return table['key']\n")
    for _ in range(2):
        unit.look_up({"key": 1})
    plain = _scripted(case_named("add", "torchscript"))
    with torch.device("meta"):
        torch.jit.load(io.BytesIO(plain.save_to_buffer()))
        torch.jit.mobile._load_for_lite_interpreter(io.BytesIO(plain._save_to_buffer_for_lite_interpreter()))
    for case in registered_cases():
        if case.toolchain == "torchscript" and case.everywhere:
            yield
            _scripted(case)


def touch_memory() -> None:
    """Do once what a device will do first."""
    _scripted(case_named("submodules", "torchscript"))


def _scripted(case: Case) -> torch.jit.ScriptModule:
    with torch.device("meta"):
        scripted: torch.jit.ScriptModule = torch.jit.script(case.module_class().eval())
        return scripted
