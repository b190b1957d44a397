"""What a script's steps are told with: names for modules, values and artifacts, and what has to be copied along."""

from __future__ import annotations

import dataclasses
import graphlib
import hashlib
import keyword
import re
from typing import Any

from conformance.compare.values import decode
from conformance.devices import Machine, Step
from conformance.standalone.reproducers._sources import Collection
from conformance.standalone.reproducers.kit import Kit
from conformance.toolchains import Reproduction, case_named
from conformance.toolchains.declarations import arguments_of, declarations_of, saved_as, without_none

#: How the file of an artifact is called.
_SUFFIXES = {
    "lite": "ptl",
    "program": "pt2",
    "package": "package",
    "cache": "cache",
    "pte": "pte",
    "bpte": "bpte",
    "bytes": "bin",
}


class CannotReproduce(Exception):
    """A failure for which no script can be written; the text says why."""


@dataclasses.dataclass(frozen=True)
class ReproducedBackend:
    """What a script has to know of the backend."""

    name: str
    #: Where its class is, ``module:class``, for what only that can tell.
    value: str
    reproduction: Reproduction

    @property
    def author(self) -> str:
        """Where its class is, if the backend cannot be loaded or lowered to without it; otherwise empty."""
        return self.value if self.reproduction.loads or self.reproduction.lowers else ""


@dataclasses.dataclass
class Held:
    """A module that a process holds, by the name of its variable."""

    name: str
    #: "lite" for one that the lite interpreter loaded, otherwise "full".
    runtime: str = "full"
    case: str = ""
    #: As which copied functions get it, where that is not the variable itself.
    whole: str = ""
    #: Where it is a compiled model: the variables of the model itself and of what watches the backend.
    module: str = ""
    watch: str = ""
    #: Further variables that go when it goes.
    others: tuple[str, ...] = ()


@dataclasses.dataclass
class Scenario:
    """Collects what the steps need while they are written down."""

    backend: ReproducedBackend
    collection: Collection
    #: True where every answer is needed, and not only what running gives.
    needs_every_answer: bool
    toolchain: str
    kit: Kit
    #: Whether something has to stand between Dynamo and the backend, since a step or the clause looks there.
    watched: bool = True
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: File name → content.
    artifacts: dict[str, bytes] = dataclasses.field(default_factory=dict)
    #: Whether the author's class is needed beyond loading and lowering.
    needs_author: bool = False
    _names: dict[str, str] = dataclasses.field(default_factory=dict)
    _artifact_names: dict[str, str] = dataclasses.field(default_factory=dict)
    _held: dict[tuple[str, int], Held] = dataclasses.field(default_factory=dict)
    _variables: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    # Modules.

    def hold(self, step: Step, number: int, kind: str, runtime: str = "full", case: str = "") -> str:
        """A variable for a module that a step made; ``kind`` is what it is called."""
        name = self.variable(step, kind)
        self._held[step.machine.label, number] = Held(name, runtime, case)
        return name

    def keep(self, step: Step, number: int, held: Held) -> None:
        """Note what a step made."""
        self._held[step.machine.label, number] = held

    def variable(self, step: Step, kind: str) -> str:
        """A variable that no other step of the process has."""
        taken = self._variables.setdefault(step.machine.label, [])
        count = sum(name == kind or name.startswith(f"{kind}_") for name in taken)
        name = f"{kind}_{count + 1}" if count else kind
        taken.append(name)
        return name

    def held(self, step: Step, number: int) -> Held:
        """What a process holds under a number."""
        return self._held[step.machine.label, number]

    def let_go(self, step: Step, number: int | None = None) -> list[str]:
        """The variables of a module, or of all of them, which are no more from now on."""
        label = step.machine.label
        numbers = [key for key in self._held if key[0] == label and number in (None, key[1])]
        gone = [self._held.pop(key) for key in numbers]
        return [name for held in gone for name in (held.name, *held.others)]

    # Values.

    def value(self, data: bytes, kind: str) -> str:
        """The name in inputs.pt of an encoded value; equal bytes have one name."""
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._names:
            number = 1 + sum(name.startswith(f"{kind} ") for name in self.values)
            self._names[digest] = f"{kind} {number}"
            self.values[self._names[digest]] = decode(data)
        return self._names[digest]

    def literal(self, data: bytes, kind: str) -> str:
        """An encoded value as an expression: written out where it is short and plain, otherwise from inputs.pt."""
        value = decode(data)
        text = repr(value)
        if len(text) <= 200 and _is_plain(value):
            return text
        return f"given({self.value(data, kind)!r})"

    # Artifacts.

    def save(self, data: bytes, runtime: str) -> str:
        """The file of an artifact that a step saved."""
        return self._artifact(data, "artifact", _SUFFIXES.get(runtime, "pt"))

    def load(self, data: bytes, runtime: str) -> str:
        """The file of an artifact that a step loads: one that was saved, or one that a clause has altered."""
        return self._artifact(data, "altered", _SUFFIXES.get(runtime, "pt"))

    def _artifact(self, data: bytes, kind: str, suffix: str) -> str:
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._artifact_names:
            number = 1 + sum(name.startswith(f"{kind}-") for name in self.artifacts)
            name = f"{kind}-{number}.{suffix}"
            self._artifact_names[digest] = name
            self.artifacts[name] = data
        return self._artifact_names[digest]

    @property
    def loads_altered(self) -> bool:
        """Whether a step loads an artifact that no step saved."""
        return any(name.startswith("altered-") for name in self.artifacts)

    # Models.

    def model(self, case: str, seed: int) -> str:
        """The expression that builds the model of a case."""
        chosen = case_named(case, self.toolchain)
        self.collection.add(chosen.module_class.__module__, chosen.module_class.__name__)
        return f"build({chosen.module_class.__name__}, seed={chosen.own_seed(seed)})"

    def spec(self, case: str) -> str:
        """The compile spec that the author's class gives for a case."""
        return self.literal(self.backend.reproduction.specs[case], "spec")

    def lowering(self, module: str, spec: str) -> str:
        """The call that lowers a module."""
        if self.backend.reproduction.lowers:
            return f"author().lower({module}, {spec})"
        return f"torch._C._jit_to_backend(BACKEND, {module}, {spec})"


def process_order(steps: list[Step], toolchain: str) -> list[Machine]:
    """The processes in the order in which they can run one after the other: each loads what an earlier one saved.

    Raises CannotReproduce when there is no such order.
    """
    order: graphlib.TopologicalSorter[Machine] = graphlib.TopologicalSorter()
    saved: dict[bytes, Machine] = {}
    for step in steps:
        order.add(step.machine)
        declaration = declarations_of(toolchain).get(step.verb)
        if declaration is None:  # one that is the same everywhere, such as "release"
            continue
        for name, hint in arguments_of(declaration).items():
            origin = saved.get(step.arguments[name]) if saved_as(hint) is not None else None
            if origin is not None and origin is not step.machine:
                order.add(step.machine, origin)
        if step.returned and saved_as(without_none(declaration.hints["return"], step.value)) is not None:
            saved.setdefault(step.value, step.machine)
    try:
        return list(order.static_order())
    except graphlib.CycleError:
        raise CannotReproduce(
            "the processes wait for each other's artifacts, so that they cannot run one after another"
        ) from None


def name_of(machine: Machine) -> str:
    """The name of a process's function."""
    return re.sub(r"\W+", "_", machine.label)


def is_identifier(name: str) -> bool:
    """Whether a name can stand behind a dot."""
    return name.isidentifier() and not keyword.iskeyword(name)


def _is_plain(value: Any) -> bool:
    if value is None or isinstance(value, bool | int | str):
        return True
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return isinstance(value, list) and all(map(_is_plain, value))
