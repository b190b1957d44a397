"""Mutants of ExecuTorch delegates: the conforming delegate, with what a specification says.

A part is computed twice: by the reference delegate, and operator by operator by PyTorch, where a mutant goes wrong.
What PyTorch gives is what the call gives.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import torch
from torch_conformance_saboteurs.mutants.conditions import plain_tensors
from torch_conformance_saboteurs.mutants.effects import CHANGES, MutantError
from torch_conformance_saboteurs.mutants.engine import Mutant, spec_of_environment
from torch_conformance_saboteurs.mutants.history import Lowered

from torch_conformance_saboteurs_executorch.bridge import Argument
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INVALID_ARGUMENT


@functools.cache
def _mutant() -> Mutant:
    return Mutant(spec_of_environment())


#: The blobs of this process, and how often each was made ready to run.
_packed: dict[bytes, int] = {}


def forget_packed() -> None:
    """Take for foreign what is loaded from now on, as another process would."""
    _packed.clear()


class _Part:
    """What a handle stands for."""

    def __init__(self, graph: torch.fx.GraphModule, lowered: Lowered) -> None:
        self.graph = graph
        self.lowered = lowered
        self.inputs = sum(node.op == "placeholder" for node in graph.graph.nodes)
        #: Of the call that is going on; None where it cannot be computed.
        self.results: list[torch.Tensor] | None = None


class ExecuTorchMutant(BridgeControl):
    """Which mutant it is stands in the environment; without one it is the control."""

    name = "executorch_mutant"

    def __init__(self) -> None:
        self._pending = threading.local()
        self._parts: dict[int, _Part] = {}

    def preprocess(self, program: Any, specs: Any) -> bytes:
        """The blob of the control, with the graph behind it."""
        from torch_conformance_reference_executorch.partition import tag_of
        from torch_conformance_saboteurs.mutants.dynamo import change_constant

        from torch_conformance_saboteurs_executorch.mutants import parts

        if not _mutant().effect or tag_of(program) is not None:
            return super().preprocess(program, specs)
        part = parts.part_of(program)  # before it becomes a program of ExecuTorch's
        spoils = _mutant().lowering(Lowered(parts.kernels_of(part), counts=False), parts.inputs_of(part))
        if spoils and _mutant().effect == "constant off":
            if change_constant(part):
                _mutant().fire()
        elif spoils:
            _spoil_weight(parts.tensors_of(part))
        blob = parts.with_part(super().preprocess(program, specs), part)
        _packed.setdefault(blob, 0)
        return blob

    def init(self, method: str, blob: memoryview) -> int | bytes:
        """Load the graph behind a blob."""
        self._pending.part = None
        if not _mutant().effect:
            return 0
        from torch_conformance_saboteurs_executorch.mutants import parts

        everything = bytes(blob)
        plain, graph = parts.taken_apart(everything)
        if graph is None:
            return 0
        loaded = everything not in _packed
        _packed[everything] = _packed.get(everything, 0) + 1
        copied = not loaded and _packed[everything] > 1
        lowered = Lowered(parts.kernels_of(graph), loaded=loaded, copied=copied)
        try:
            if _mutant().loading(lowered):
                _spoil_weight(parts.tensors_of(graph))
        except MutantError:
            return INVALID_ARGUMENT
        self._pending.part = _Part(graph, lowered)
        return plain

    def made(self, handle: int) -> None:
        """Keep the part of a handle."""
        part = self._pending.part
        self._pending.part = None
        if part is not None:
            self._parts[handle] = part
            _mutant().released_with(part, part.lowered)

    def before(self, handle: int, arguments: list[Argument]) -> int:
        """Compute the part."""
        part = self._parts.get(handle)
        if part is None:
            return 0
        part.results = None
        inputs = [each.tensor for each in arguments[: part.inputs]]
        if any(each is None for each in inputs):
            return 0
        try:
            with torch.no_grad():
                results = _mutant().run(part.lowered, part.graph, inputs)
        except MutantError:
            return INVALID_ARGUMENT
        except (RuntimeError, IndexError, ValueError):
            return 0  # what eager PyTorch raises: the reference delegate refuses the call as well
        part.results = list(plain_tensors(results))
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        """Give what was computed."""
        part = self._parts.get(handle)
        if part is not None and part.results is not None:
            for given, result in zip(arguments[part.inputs :], part.results, strict=False):
                if given.tensor is not None and given.tensor.shape == result.shape:
                    given.tensor.copy_(result)
        return 0

    def failed(self, handle: int, arguments: list[Argument], code: int) -> int:
        """Give what was computed in spite of an error."""
        part = self._parts.get(handle)
        if part is None or part.results is None or _mutant().effect != "error swallowed":
            return code
        return self.after(handle, arguments)

    def destroy(self, handle: int) -> bool:
        """Let go of the part of a handle."""
        self._parts.pop(handle, None)
        return True


def _spoil_weight(tensors: list[torch.Tensor]) -> None:
    """Change the first weight that the effect makes another one of."""
    mutant = _mutant()
    for tensor in tensors:
        new = CHANGES[mutant.effect](tensor.detach())
        if new.numel() and not torch.equal(new, tensor):
            with torch.no_grad():
                tensor.copy_(new)
            mutant.fire()
            return
