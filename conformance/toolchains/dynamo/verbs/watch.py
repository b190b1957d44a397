"""The watch between Dynamo and the backend: it counts lowerings and calls, and notes what a backend must not do."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._dynamo.exc import RestartAnalysis
from torch._dynamo.source import ConstantSource
from torch._guards import TracingContext, detect_fake_mode


class Lowered(BaseException):
    """Raised instead of the first call of compiled code: lowering is over, and nothing has run yet."""


class Watch:
    """A backend for ``torch.compile`` that passes everything on to another.

    Dynamo names a backend in its errors by ``__name__``.
    """

    def __init__(self, name: str, inner: Callable[..., Any]) -> None:
        self.__name__ = name
        self._inner = inner
        self._only_lowering = False
        self._lock = threading.Lock()
        #: How often the backend was given a graph, and how often compiled code of it was called.
        self.lowerings = 0
        self.runs = 0
        #: Sentences about results that differ in form from the graph's, and about what lowering changed around it.
        self.malformed: list[str] = []
        self.disturbed: list[str] = []
        #: The exceptions that the backend raised instead of lowering a graph, but for Dynamo's own RestartAnalysis.
        self.declined: list[Exception] = []

    def __call__(self, graph: Any, example_inputs: Sequence[Any], **kwargs: Any) -> Callable[..., Any]:
        self.lowerings += 1
        before = _Surroundings()
        outputs = len(graph.graph.output_node().args[0])  # the graph is the backend's to change
        compiled = self._lowered(graph, example_inputs, kwargs)
        self.disturbed += before.disturbed(example_inputs)
        if not callable(compiled):
            raise TypeError(f"the backend returned {type(compiled).__name__}, which cannot be called")

        @functools.wraps(compiled, updated=())
        def counted(*arguments: Any) -> Any:
            if self._only_lowering:
                raise Lowered
            with self._lock:
                self.runs += 1
            result = compiled(*arguments)
            self._look_at(result, outputs)
            return result

        if getattr(compiled, "_boxed_call", False):
            counted._boxed_call = True  # type: ignore[attr-defined]
        return counted

    def _lowered(self, graph: Any, example_inputs: Sequence[Any], keywords: dict[str, Any]) -> Callable[..., Any]:
        """What the backend makes of a graph. What it raises is raised, and remembered: Dynamo may pass over it."""
        try:
            compiled: Callable[..., Any] = self._inner(graph, example_inputs, **keywords)
        except RestartAnalysis:
            raise
        except Exception as error:
            self.declined.append(error)
            raise
        return compiled

    @contextlib.contextmanager
    def only_lowering(self) -> Iterator[None]:
        """Within the block compiled code is not called: the first call of one raises, which ends the block."""
        self._only_lowering = True
        try:
            with contextlib.suppress(Lowered):
                yield
        finally:
            self._only_lowering = False

    def _look_at(self, result: Any, outputs: int) -> None:
        if not isinstance(result, tuple | list):
            self.malformed.append(f"compiled code returned {type(result).__name__} instead of a tuple of {outputs}")
        elif len(result) != outputs:
            self.malformed.append(f"compiled code returned {len(result)} values, where the graph has {outputs}")


def with_declines_raised(
    compiled: Callable[..., Any], watch: Watch, wrapped: Callable[[Exception], Exception] = lambda error: error
) -> Callable[..., Any]:
    """What is called in place of something compiled, and raises what the backend raised in place of lowering a graph
    that is first needed by the call: Dynamo passes over some exceptions, and PyTorch runs what was not lowered."""

    def called(*arguments: Any) -> Any:
        before = len(watch.declined)
        result = compiled(*arguments)
        if len(watch.declined) > before:
            raise wrapped(watch.declined[-1])
        return result

    return called


def watching(name: str, options: dict[str, Any] | None, mode: str | None) -> Watch:
    """A watch over the backend of that name, with options and a mode, as ``torch.compile`` would call it."""
    if name == "inductor":
        return Watch(name, torch._TorchCompileInductorWrapper(mode, options, None))
    return Watch(name, torch._TorchCompileWrapper(name, mode, options, None))


class _Surroundings:
    """What Dynamo has around the backend while it lowers, to see what the backend makes of it."""

    def __init__(self) -> None:
        self._context = TracingContext.try_get()
        self._fake_mode = self._context.fake_mode if self._context else None
        self._shape_env = self._fake_mode.shape_env if self._fake_mode else None
        self._symbols = self._sources()

    def _sources(self) -> dict[str, list[Any]]:
        if self._shape_env is None:
            return {}
        return {str(symbol): list(sources) for symbol, sources in self._shape_env.var_to_sources.items()}

    def disturbed(self, example_inputs: Sequence[Any]) -> list[str]:
        """A sentence for each thing that is not as it was, now that the backend has returned."""
        found = []
        if TracingContext.try_get() is not self._context:
            found.append("lowering left another TracingContext behind")
        elif self._context is not None:
            if self._context.fake_mode is not self._fake_mode:
                found.append("lowering put another fake mode into Dynamo's TracingContext")
            elif detect_fake_mode(example_inputs) is not self._fake_mode:
                found.append("while lowering, a fake mode other than Dynamo's became the current one")
            if self._fake_mode is not None and self._fake_mode.shape_env is not self._shape_env:
                found.append("lowering put another ShapeEnv into Dynamo's fake mode")
        for symbol, sources in self._sources().items():
            if symbol not in self._symbols and not any(map(_of_an_input, sources)):
                found.append(f"lowering added the symbol {symbol} to Dynamo's ShapeEnv, which no input explains")
        return found


def _of_an_input(source: Any) -> bool:
    """Whether a symbol's source leads to something that Dynamo can look at when it checks guards."""
    while (base := getattr(source, "base", None)) is not None:
        source = base
    return not isinstance(source, ConstantSource)
