"""What the zygote of TorchScript devices does ahead of them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence

import torch
import torch.jit.mobile
import torch.utils.bundled_inputs

import conformance.toolchains.torchscript.verbs  # noqa: F401
from conformance.api.case import case_named, registered_cases
from conformance.toolchains.torchscript.scripting import forget_ahead, script_ahead


def warm_up() -> Iterator[None]:
    """Let PyTorch read what every child would have to: schemas and gradients.

    A dictionary is looked up, which makes the JIT load its tables (25 ms); a model is scripted on the meta device,
    where nothing is computed, saved and loaded (13 ms).
    """
    unit = torch.jit.CompilationUnit("def look_up(table: Dict[str, int]) -> int:\n    return table['key']\n")
    for _ in range(2):
        unit.look_up({"key": 1})
    with torch.device("meta"):
        plain = torch.jit.script(case_named("add", "torchscript").module_class().eval())
        torch.jit.load(io.BytesIO(plain.save_to_buffer()))
        torch.jit.mobile._load_for_lite_interpreter(io.BytesIO(plain._save_to_buffer_for_lite_interpreter()))
    yield


def make_models(seed: int, cases: Sequence[str] | None) -> Iterator[None]:
    """Script the models of these cases, or of all but the large ones, as a run with that seed has them: one at each
    step (10 ms).

    Their weights are drawn, on the one thread that this process has.
    """
    corpus = {each.name: each for each in registered_cases() if each.toolchain == "torchscript" and each.everywhere}
    for name in corpus if cases is None else cases:
        if name in corpus:
            with contextlib.suppress(Exception):  # whoever needs it fails by itself, and says why
                script_ahead(corpus[name], seed)
            yield


def forget_models() -> None:
    """Let this process script every model by itself."""
    forget_ahead()
