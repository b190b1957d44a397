"""What is different from toolchain to toolchain where a failure is told as a script."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from conformance.devices import Step
from conformance.extensions import resolve
from conformance.toolchains import toolchain_named

if TYPE_CHECKING:
    from conformance.standalone.reproducers._scenario import ReproducedBackend, Scenario
    from conformance.toolchains.verbs import Verbs

#: A verb as code. It gets the scenario and the step; the lines may use ``this``, the step's own block.
Writer = Callable[["Scenario", Step], list[str]]


class Writers:
    """A table of writers by the names of their verbs. ``writers("save")`` decorates the one for the verb ``save``."""

    def __init__(self) -> None:
        self.by_verb: dict[str, Writer] = {}

    def __call__(self, verb: str) -> Callable[[Writer], Writer]:
        def register(writer: Writer) -> Writer:
            self.by_verb[verb] = writer
            return writer

        return register


@dataclasses.dataclass(frozen=True)
class Kit:
    """The parts of a toolchain's scripts; modules, from which definitions are copied, are given by their names."""

    #: The package with the verbs, whose ``verb`` is their table, and beginnings of names of modules that come with it.
    verbs_package: str
    #: The verb that builds the model of a case.
    builds: str
    #: What makes the backend known to PyTorch, and what stands in for a session.
    loading: str
    session: str
    #: How verbs are written, beside those of every toolchain.
    writers: Writers
    #: What a script says of the backend: constants, which ``loading`` and ``session`` use.
    constants: Callable[[ReproducedBackend], list[str]]
    #: Names of constants that only some scripts have.
    provided: frozenset[str]
    #: What a script needs beside torch, and how a user names it on its command line.
    needs: str
    option: str
    #: Role of a process → what it does.
    roles: Mapping[str, str]
    #: The module whose class ``Backend`` lowers models of generated trials; empty where there are none.
    trials: str = ""
    #: The cases that are lowered in some step, of which the author's class is asked.
    lowered_cases: Callable[[list[Step]], list[str]] = lambda steps: []
    #: Verbs that reply with a list of all that a step answered.
    encoded: tuple[str, ...] = ()
    #: The function that keeps modules from being imported, where devices can lack some: its module, and its name.
    hiding: tuple[str, str] | None = None
    #: The class of what a sample call did, where calls have effects: its module, and its name.
    observation: tuple[str, str] | None = None

    def verbs(self) -> Verbs:
        """The toolchain's table of verbs. Importing them is not for every run of pytest."""
        verbs: Verbs = resolve(self.verbs_package).verb
        return verbs


@functools.cache
def kit_of(toolchain: str) -> Kit | None:
    """The kit of a toolchain; None where it has none."""
    reference = toolchain_named(toolchain).kit
    if not reference:
        return None
    kit: Kit = resolve(reference)
    return kit
