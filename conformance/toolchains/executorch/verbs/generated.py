"""Verbs for generated programs: what plain PyTorch makes of a trial, and what a delegate does."""

from __future__ import annotations

import dataclasses

from conformance.generate import AS_CASE
from conformance.generate.verbs import add_verbs
from conformance.toolchains.executorch.plugin import ExecuTorch
from conformance.toolchains.executorch.verbs.served import ProgramMaker
from conformance.toolchains.executorch.verbs.session import Session, verb


@dataclasses.dataclass(frozen=True)
class GeneratedCase:
    """What the backend's ``partitioner`` is told about a program."""

    name: str = AS_CASE
    methods: tuple[str, ...] = ("forward",)


def maker_in(session: Session) -> ProgramMaker:
    """What lowers the models of trials in a device."""
    return ProgramMaker(session.partitioners(GeneratedCase(), shared=False))


assert ExecuTorch.programs is not None
add_verbs(verb, ExecuTorch.programs, maker_in)
