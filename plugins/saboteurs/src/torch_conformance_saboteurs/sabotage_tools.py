"""What the saboteurs share: how one is listed, and how what it leaves alone is separated from what it breaks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor

from conformance.api import backend as authors
from conformance.api.saboteur import Saboteur
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.graphs import nodes_of

Backend = TypeVar("Backend", bound=type[authors.Backend])


class Listing:
    """The saboteurs of one module, in the order in which they are written."""

    def __init__(self) -> None:
        self._saboteurs: list[Saboteur] = []

    def __call__(
        self,
        *caught_by: str,
        verdicts: tuple[str, ...] = ("FAIL",),
        phases: tuple[str, ...] = ("run",),
        target: str = "local",
        replaces_functions: bool = False,
    ) -> Callable[[Backend], Backend]:
        """List the decorated backend; its sabotage is the docstring of the class, or of its implementation's.

        The other arguments are those of :class:`conformance.api.saboteur.Saboteur`.
        Raises ValueError without a docstring.
        """

        def add(backend: Backend) -> Backend:
            implementation = getattr(backend, "implementation", backend)
            text = backend.__dict__.get("__doc__") or implementation.__dict__.get("__doc__")
            if not text:
                raise ValueError(f"{backend.__qualname__} does not say in a docstring what is wrong with it")
            sabotage = " ".join(inspect.cleandoc(text).split())
            self._saboteurs.append(Saboteur(backend, sabotage, caught_by, verdicts, phases, target, replaces_functions))
            return backend

        return add

    def all(self) -> tuple[Saboteur, ...]:
        """What was listed."""
        return tuple(self._saboteurs)


class ChangedTensors(PythonBackend):
    """A backend that computes what is right, and then changes each tensor of the result."""

    def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
        """What is returned in place of ``tensor``, which the method computed for ``inputs``."""
        raise NotImplementedError

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        result = super().call(handle, inputs)
        return replaced(result, Tensor, lambda tensor: self.change(tensor, inputs))


class ChangedGraph(PythonBackend):
    """A backend that changes nodes of the graph of each method before it runs."""

    def change(self, graph: Any, node: Any) -> None:
        """Change one node; what ``graph`` inserts comes before it."""
        raise NotImplementedError

    def load_program(self, record: Record) -> torch._C.ScriptModule:
        program = super().load_program(record)
        for method in record.debug_handles:
            graph: Any = program._get_method(method).graph
            for node in list(nodes_of(graph)):
                graph.setInsertPoint(node)
                self.change(graph, node)
        return program


def replaced(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """``value`` with everything in it that is exactly of that kind (a Tensor, a float, a list) changed, inside out."""
    if isinstance(value, tuple):
        value = tuple(replaced(item, kind, change) for item in value)
    elif isinstance(value, list):
        value = [replaced(item, kind, change) for item in value]
    elif isinstance(value, dict):
        value = {key: replaced(item, kind, change) for key, item in value.items()}
    return change(value) if type(value) is kind else value


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor of a value, containers included."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
