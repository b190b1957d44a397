"""The probe of mutants of ExecuTorch delegates: witnesses, lowered and called by ExecuTorch's own functions."""

from __future__ import annotations

from typing import Any

import torch
from torch_conformance_saboteurs.mutants.grammar import Spec
from torch_conformance_saboteurs.mutants.probe import Eager, Probe


class _Lowered:
    """A model that is exported and lowered for the inputs that it is called with first."""

    def __init__(self, model: torch.nn.Module, partitioner: Any, varies: bool) -> None:
        self._model = model
        self._partitioner = partitioner
        self._varies = varies
        #: What was loaded; each method goes before its program, which it does not keep alive.
        self._methods: list[Any] = []
        self._programs: list[Any] = []
        self._data = b""
        self.loads = 1
        self.is_foreign = False

    def __call__(self, *arguments: Any) -> Any:
        if not self._methods:
            self._load(arguments)
        return self._methods[-1].execute(arguments)

    def _load(self, arguments: tuple[Any, ...]) -> None:
        from executorch.exir import to_edge_transform_and_lower
        from executorch.runtime import Runtime

        from torch_conformance_saboteurs_executorch.mutants.backend import forget_packed

        shapes = tuple(map(_lengths, arguments)) if self._varies else None
        exported = torch.export.export(self._model.eval(), arguments, dynamic_shapes=shapes)
        lowered = to_edge_transform_and_lower(exported, partitioner=[self._partitioner])
        self._data = bytes(lowered.to_executorch().buffer)
        if self.is_foreign:
            forget_packed()
        for _ in range(self.loads):
            self._programs.append(Runtime.get().load_program(self._data))
            self._methods.append(self._programs[-1].load_method("forward"))


def _lengths(argument: torch.Tensor) -> dict[int, Any]:
    """The first dimension of an argument may have other sizes, up to four times as long."""
    if not argument.dim() or argument.shape[0] < 2:
        return {}
    return {0: torch.export.Dim.AUTO(max=4 * argument.shape[0])}


class _Delegated(Eager):
    """ExecuTorch with a delegate."""

    def __init__(self, backend: Any, varies: bool) -> None:
        self._backend = backend
        self._varies = varies

    def __call__(self, model: torch.nn.Module) -> Any:
        return _Lowered(model, self._backend.partitioner(None), self._varies)

    def again(self, lowered: Any) -> Any:
        lowered.is_foreign = True
        return lowered

    def copy(self, lowered: Any) -> Any:
        lowered.loads = 2
        return lowered


class _ExecuTorchProbe(Probe):
    has_memory = False

    def lowering(self, spec: Spec) -> Eager:
        return _Delegated(self.backend, spec["when"].get("earlier") == "another shape")


def open_session(subject: dict[str, Any]) -> Probe:
    """A session about one delegate."""
    return _ExecuTorchProbe(subject)
