"""Verbs for generated programs: what plain PyTorch makes of a trial, and what a compiler does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
import torch._dynamo.guards

from conformance.generate.makers import NotLowered
from conformance.generate.verbs import add_verbs
from conformance.toolchains.dynamo.plugin import Dynamo
from conformance.toolchains.dynamo.verbs.session import Session, verb
from conformance.toolchains.dynamo.verbs.watch import with_declines_raised


def _measure_no_guards() -> None:
    """Do without what Dynamo does after it has compiled something, which is to note how long its guards take.

    It empties the caches of the processor for that, and takes a third of the time of a small graph.
    """
    if hasattr(torch._dynamo.guards, "profile_guard_manager"):
        torch._dynamo.guards.profile_guard_manager = lambda *_: 0.0


class _Maker:
    """Gives a model to ``torch.compile`` as users do, and watches whether the backend lowers what it is given."""

    def __init__(self, session: Session) -> None:
        _measure_no_guards()
        self._watch = session.watch()

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        compiled: Callable[..., Any] = torch.compile(module, backend=self._watch, dynamic=dynamic)
        return with_declines_raised(compiled, self._watch, NotLowered)

    def reset(self) -> None:
        torch._dynamo.reset()

    def forget(self) -> None:
        torch._dynamo.reset()


assert Dynamo.programs is not None
add_verbs(verb, Dynamo.programs, _Maker)
