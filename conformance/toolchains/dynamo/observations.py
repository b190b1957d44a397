"""What a clause sees of a call, and of what passed between Dynamo and the backend."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from conformance.compare.values import decode, tensors_in
from conformance.toolchains.declarations import expected


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """Everything that a caller can observe of one call: what it returned and left its arguments as, the parameters and
    buffers whose values it changed, which tensors among the arguments it has written to, and by name ("argument 0",
    "result 1", the name of a parameter that was moved) what is true of each tensor beside its values."""

    result: Any
    arguments: tuple[Any, ...]
    state: dict[str, Any]
    written: tuple[bool, ...]
    traits: dict[str, list[str]]

    @classmethod
    def from_reply(cls, value: dict[str, Any], reply: Any = None) -> Self:
        """From a verb's row: values are encoded together, so that shared memory shows."""
        result, arguments, state = expected(tuple[Any, tuple[Any, ...], dict[str, Any]], decode(value["result"]))
        written = expected(list[bool], value["written"])
        return cls(result, arguments, state, tuple(written), expected(dict[str, list[str]], value["traits"]))

    @property
    def values(self) -> tuple[Any, ...]:
        """What is encoded together."""
        return self.result, self.arguments, self.state

    @property
    def others(self) -> tuple[Any, ...]:
        """What travels beside that."""
        return self.written, self.traits

    @property
    def requires_grad(self) -> list[bool]:
        """Which tensors of the result require grad."""
        return ["requires grad" in traits for name, traits in self.traits.items() if name.startswith("result")]

    @property
    def shared(self) -> dict[str, list[str]]:
        """Which tensors lie in one memory: name of a result or argument → the names of the others."""
        named = [(f"result {index}", tensor) for index, tensor in enumerate(tensors_in(self.result))]
        named += [(f"argument {index}", tensor) for index, tensor in enumerate(tensors_in(self.arguments))]
        memory = {name: tensor.untyped_storage().data_ptr() for name, tensor in named if tensor.numel()}
        return {
            name: [other for other in memory if other != name and memory[other] == place]
            for name, place in memory.items()
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """How often the backend was given a graph, and how often its code was called; a sentence for each result that was
    not what the graph has, and for what lowering changed of what surrounds it; and the errors by which it declined."""

    lowerings: int
    runs: int
    malformed: list[str]
    disturbed: list[str]
    declined: list[str] = dataclasses.field(default_factory=list)
