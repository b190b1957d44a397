"""Saboteurs that are wrong where only generated cells look: one operator, one argument of it, one order of events."""

from __future__ import annotations

from typing import Any

from torch_conformance_saboteurs_executorch.bridge import Argument
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INVALID_ARGUMENT, Listing, floats

saboteur = Listing()


def calls_of(program: Any, operator: str) -> list[Any]:
    """The nodes of a part that call an operator, such as ``aten.var``."""
    nodes = (node for node in program.graph.nodes if node.op == "call_function")
    return [node for node in nodes if f"aten.{operator}." in str(node.target)]


@saboteur("delegate.operators.correct")
class ComparesWithoutEquality(BridgeControl):
    """What is less or equal is taken to be less."""

    name = "compares_without_equality"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        from executorch.exir.dialects._ops import ops

        for node in calls_of(program, "le"):
            overload = "Tensor" if node.target._op._overloadname == "Tensor" else "Scalar"
            node.target = getattr(ops.edge.aten.lt, overload)
        program.graph_module.recompile()
        return super().preprocess(program, specs)


@saboteur("delegate.generated.programs", "delegate.operators.correct")
class SaturatesQuietly(BridgeControl):
    """A result beyond sixteen thousand is sixteen thousand."""

    name = "saturates_quietly"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.clamp_(-16384.0, 16384.0)
        return 0


@saboteur("delegate.generated.programs")
class CountsToSixteen(BridgeControl):
    """Of an output with more than sixteen elements in its last dimension the last one is left as zero."""

    name = "counts_to_sixteen"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            if tensor.dim() and tensor.shape[-1] > 16:
                tensor[..., -1] = 0.0
        return 0


@saboteur("delegate.generated.scenarios")
class GoesDownWithTheFirst(BridgeControl):
    """Once a delegate was destroyed every other that was there by then refuses its calls."""

    name = "goes_down_with_the_first"

    def __init__(self) -> None:
        self._alive: set[int] = set()
        self._down: set[int] = set()

    def before(self, handle: int, arguments: list[Argument]) -> int:
        self._alive.add(handle)
        return INVALID_ARGUMENT if handle in self._down else 0

    def destroy(self, handle: int) -> bool:
        self._alive.discard(handle)
        self._down = set(self._alive)
        return True
