"""The objects of an ExecuTorch device, and its table of verbs."""

from __future__ import annotations

import dataclasses
from typing import Any

from conformance.api.backend import LoweredCase
from conformance.api.case import Case
from conformance.devices import Subject
from conformance.toolchains.executorch.backend import ExecuTorchBackend
from conformance.toolchains.verbs import ObjectSession, Verbs

verb = Verbs()


@dataclasses.dataclass
class ExportedCase:
    """A case's module, and what ``torch.export`` made of each of its methods."""

    case: Case
    module: Any
    programs: dict[str, Any]


@dataclasses.dataclass
class LoweredModel:
    """An edge program manager after partitioning and preprocess, and what it was made of."""

    exported: ExportedCase
    manager: Any


@dataclasses.dataclass
class LoadedMethod:
    """A method of a loaded program. The program, and the bytes that it lies in, live as long as its methods."""

    program: Any
    method: Any


class Session(ObjectSession[ExecuTorchBackend]):
    """What an ExecuTorch device holds: the backend, and what was exported, lowered or loaded.

    Only a device that ``runs`` programs loads the run-time half of the backend.
    """

    def __init__(self, subject: dict[str, Any] | None, *, runs: bool) -> None:
        super().__init__(subject, verb, ExecuTorchBackend)
        self.runs = runs
        self._shared: Any = None

    def partitioners(self, case: LoweredCase, *, shared: bool) -> list[Any]:
        """The backend's partitioner for a case, or the one that all share; the control has none."""
        if self.backend is None:
            return []
        if not shared:
            return [self.backend.partitioner(case)]
        self._shared = self._shared or self.backend.partitioner(case)
        return [self._shared]


@verb
def register(session: Session) -> None:
    """Find the author's class; load the run-time half where programs run."""
    session.open()
    if session.backend is not None and session.runs:
        with Subject():
            session.backend.load()


@verb
def register_again(session: Session) -> None:
    """Load the run-time half a second time in the same process."""
    if session.backend is not None:
        with Subject():
            session.backend.load()
