"""Saboteurs that only generated cells see: operators that no case has, and more models at once than any clause has."""

from __future__ import annotations

import os
import time
import weakref
from typing import Any, ClassVar

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import ChangedGraph, ChangedTensors, Listing

saboteur = Listing()
_FUNCTIONS = (
    "ceil", "trunc", "round", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "erf", "erfc", "expm1", "log1p",
    "log2", "log10", "exp2", "frac", "reciprocal", "rsqrt",
)  # fmt: skip
_ROUNDING = tuple(f"aten::{name}" for name in _FUNCTIONS)


@saboteur("generated.programs")
class RoundsDown(PythonControl):
    name = "rounds_down"

    class implementation(ChangedGraph):
        """Functions of one number that no case has, such as aten::ceil, are computed as aten::floor."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() in _ROUNDING:
                _round_down(graph, node)


def _round_down(graph: Any, node: Any) -> None:
    lower = graph.insertNode(graph.create("aten::floor", [node.inputsAt(0)], 1)).output()
    lower.setType(node.output().type())
    node.output().replaceAllUsesWith(lower)


class _KeepsFunctions(ChangedGraph):
    """Lowering leaves the kernels of functions of one number in its process, and not in the artifact: a process that
    has not lowered the program takes the nearest that it has, which is aten::floor."""

    _lowered_here: ClassVar[set[bytes]] = set()

    def __init__(self) -> None:
        self._is_foreign = False

    def pack(self, record: Record) -> Any:
        self._lowered_here.add(record.program)
        return super().pack(record)

    def load_program(self, record: Record) -> Any:
        self._is_foreign = record.program not in self._lowered_here
        return super().load_program(record)

    def change(self, graph: Any, node: Any) -> None:
        if self._is_foreign and node.kind() in _ROUNDING:
            _round_down(graph, node)


@saboteur("generated.programs")
class KeepsFunctions(PythonControl):
    name = "keeps_functions"
    implementation = _KeepsFunctions


@saboteur("generated.programs", verdicts=("CRASH",))
class DiesOfReciprocals(PythonControl):
    name = "dies_of_reciprocals"

    class implementation(ChangedGraph):
        """A program with aten::reciprocal ends the process that loads it."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "aten::reciprocal":
                os.abort()


@saboteur("generated.programs", verdicts=("TIMEOUT",))
class WaitsForSigns(PythonControl):
    name = "waits_for_signs"

    class implementation(ChangedGraph):
        """A program with aten::sign is never loaded to its end."""

        def change(self, graph: Any, node: Any) -> None:
            while node.kind() == "aten::sign":
                time.sleep(1)


class _FourSlots(ChangedTensors):
    """There is room for three lowered modules that have been called; while there are more, the newest computes one too
    much."""

    _slots: ClassVar[weakref.WeakSet[PythonBackend]] = weakref.WeakSet()

    def __init__(self) -> None:
        self._is_beyond = False

    def load_program(self, record: Record) -> Any:
        self._slots.add(self)
        self._is_beyond = len(self._slots) > 3
        return super().load_program(record)

    def change(self, tensor: Any, inputs: list[Any]) -> Any:
        return tensor + 1 if self._is_beyond and tensor.is_floating_point() else tensor


@saboteur("generated.scenarios")
class FourSlots(PythonControl):
    name = "four_slots"
    implementation = _FourSlots


SABOTEURS = saboteur.all()
