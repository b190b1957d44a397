"""What a clause sees of a device for a torch.compile backend: a method for each verb, typed, on plain values."""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any

from conformance.api.case import Call
from conformance.api.errors import SubjectError
from conformance.compare.values import decode, encode, tensors_in
from conformance.toolchains.client import PreparedCase
from conformance.toolchains.dynamo.modes_client import ModesDevice, Surroundings, Trained

#: What Dynamo raises when a backend raises.
COMPILER_FAILED = "torch._dynamo.exc.BackendCompilerFailed"

__all__ = [
    "COMPILER_FAILED",
    "Counts",
    "DynamoDevice",
    "Model",
    "Observation",
    "Package",
    "PreparedCase",
    "Surroundings",
    "Trained",
]

#: Pairs (argument, dimension) that ``torch._dynamo.mark_dynamic`` is called for.
Marks = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Model:
    """A model that a device holds, compiled or not."""

    number: int


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    """A package that a device has loaded, and what of a compiler's work that took."""

    number: int
    work: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """One call: what it returned, what it left its arguments as, and which tensors among these it has written to."""

    result: Any
    arguments: tuple[Any, ...]
    written: tuple[bool, ...]

    @classmethod
    def of(cls, row: dict[str, Any]) -> Observation:
        """From what a verb answers."""
        result, arguments = decode(row["result"])
        return cls(result, arguments, tuple(row["written"]))

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


class DynamoDevice(ModesDevice):
    """A device for a torch.compile backend."""

    def call(self, verb: str, /, phase: str | None = None, seconds: float | None = None, **arguments: Any) -> Any:
        """Ask for a verb. What Dynamo reports as a backend's failure to lower is filed so, whatever call it came in."""
        try:
            return super().call(verb, phase, seconds, **arguments)
        except SubjectError as error:
            if error.is_a(COMPILER_FAILED):
                error.phase = "lower"
            raise

    @staticmethod
    def _call_of(row: dict[str, Any]) -> Call:
        seen = Observation.of(row)
        return Call(row["method"], decode(row["inputs"]), seen.result, seen)

    # Making models.

    def build(self, case: PreparedCase, variant: int = 0) -> Model:
        """The case's model as it is; another ``variant`` has other weights."""
        return Model(self.call("build", case=case.name, seed=case.seed + variant))

    def compile(self, model: Model | PreparedCase, *, by_name: bool = False, dynamic: bool | None = None) -> Model:
        """Hand a model, or a case's, to torch.compile; nothing is lowered yet."""
        if isinstance(model, PreparedCase):
            model = self.build(model)
        return Model(self.call("compile", phase="lower", model=model.number, by_name=by_name, dynamic=dynamic))

    def compile_with(
        self, case: PreparedCase, *, options: dict[str, Any] | None = None, mode: str | None = None
    ) -> Model:
        """Hand a case's model to torch.compile with these options and this mode, in place of the author's."""
        model = self.call("build", case=case.name, seed=case.seed)
        return Model(self.call("compile_with", phase="lower", model=model, options=options, mode=mode))

    def lower(
        self,
        model: Model | PreparedCase,
        inputs: tuple[Any, ...] | None = None,
        *,
        arranged: str = "",
        marks: Marks = (),
        dynamic: bool | None = None,
    ) -> Model:
        """Compile a model and call it up to where compiled code would run: what goes wrong then is lowering's.

        ``inputs`` are those of the case's first call when None; ``dynamic`` is as in :meth:`compile`, and the other
        arguments are those of :meth:`run`.
        """
        if inputs is None:
            assert isinstance(model, PreparedCase)
            inputs = model.call.inputs
        compiled = self.compile(model, dynamic=dynamic)
        self.call("lower", model=compiled.number, inputs=encode(inputs), arranged=arranged, marks=_plain(marks))
        return compiled

    def reset(self) -> None:
        """Let Dynamo forget what it has compiled."""
        self.call("reset")

    def configure(self, **settings: Any) -> None:
        """Change settings of ``torch._dynamo.config``."""
        self.call("configure", **settings)

    def forget(self, model: Model) -> None:
        """Destroy one model."""
        self.call("forget", phase="release", model=model.number)

    def disturb(self, model: Model, how: str) -> None:
        """Change a model's parameters and buffers: "in place", "replaced" or "loaded"."""
        self.call("disturb", phase="build", model=model.number, how=how)

    # Calling them.

    def run(
        self,
        model: Model,
        inputs: tuple[Any, ...],
        *,
        stance: str = "default",
        arranged: str = "",
        marks: Marks = (),
    ) -> Observation:
        """Call a model with fresh copies of ``inputs``.

        ``arranged``: "" (as they are), "tied" (the second is the first), "overlapping" (both are parts of the first),
        "derived" (they are results of a computation that wants gradients).
        """
        return self.run_often(model, inputs, 1, stance=stance, arranged=arranged, marks=marks)[0]

    def run_often(
        self,
        model: Model,
        inputs: tuple[Any, ...],
        repeat: int,
        *,
        stance: str = "default",
        arranged: str = "",
        marks: Marks = (),
    ) -> list[Observation]:
        """Call a model so many times."""
        rows = self.call(
            "run",
            model=model.number,
            inputs=encode(inputs),
            repeat=repeat,
            stance=stance,
            arranged=arranged,
            marks=_plain(marks),
        )
        return [Observation.of(row) for row in rows]

    def gradients(self, model: Model, inputs: tuple[Any, ...], marks: Marks = ()) -> tuple[Any, Any]:
        """Call a model and go back: the result, and the gradients of ``inputs``."""
        found: tuple[Any, Any] = decode(
            self.call("gradients", phase="run", model=model.number, inputs=encode(inputs), marks=_plain(marks))
        )
        return found

    def run_at_sizes(self, model: Model, sizes: list[int]) -> list[int]:
        """Call a model of two matrices with so many rows; the sizes at which the result is wrong."""
        wrong: list[int] = self.call("run_at_sizes", phase="run", model=model.number, sizes=sizes)
        return wrong

    def run_keeping(self, model: Model, calls: tuple[Call, ...]) -> list[Any]:
        """Make the calls; the results, looked at after the last one."""
        inputs = [encode(call.inputs) for call in calls]
        return [decode(data) for data in self.call("run_keeping", phase="run", model=model.number, inputs=inputs)]

    # What one process writes and another reads.

    def export(self, model: Model | PreparedCase, inputs: tuple[Any, ...], marks: Marks = ()) -> bytes:
        """``torch.export`` a model, or a case's, and save the program; marked dimensions may have any size."""
        if isinstance(model, PreparedCase):
            model = self.build(model)
        program: bytes = self.call("export", model=model.number, inputs=encode(inputs), marks=_plain(marks))
        return program

    def load_exported(self, program: bytes, case: PreparedCase) -> Model:
        """The module of a saved program, not compiled."""
        return Model(self.call("load_exported", phase="load", program=program, case=case.name))

    def package(self, model: Model | PreparedCase, inputs: tuple[Any, ...]) -> bytes:
        """Compile a model, or a case's, ahead of time for such inputs, and save what came of it."""
        if isinstance(model, PreparedCase):
            model = self.build(model)
        data: bytes = self.call("package", phase="save", model=model.number, inputs=encode(inputs))
        return data

    def load_package(self, data: bytes) -> Package:
        """Load what :meth:`package` saved."""
        number, work = self.call("load_package", phase="load", package=data)
        return Package(number, tuple(work))

    def run_package(self, package: Package, model: Model, inputs: tuple[Any, ...]) -> tuple[Any, tuple[str, ...]]:
        """Call a package with a model and inputs: the result, and what of a compiler's work was done meanwhile."""
        row, work = self.call(
            "run_package", phase="run", package=package.number, model=model.number, inputs=encode(inputs)
        )
        return Observation.of(row).result, tuple(work)

    def operators_run_by_package(self, package: Package, model: Model, inputs: tuple[Any, ...]) -> list[str]:
        """The operators that PyTorch itself executes in one call of a package that was called before."""
        names: list[str] = self.call(
            "operators_run_by_package",
            phase="run",
            package=package.number,
            model=model.number,
            inputs=encode(inputs),
        )
        return names

    def save_cache(self) -> bytes | None:
        """The cache artifacts of what this process has compiled; None where nothing was cached."""
        artifacts: bytes | None = self.call("save_cache", phase="save")
        return artifacts

    def load_cache(self, artifacts: bytes) -> None:
        """Load cache artifacts into a process that has no other cache."""
        self.call("load_cache", phase="load", artifacts=artifacts)

    # Looking.

    def counts(self, model: Model) -> Counts:
        """What was seen between Dynamo and the backend."""
        return Counts(**self.call("counts", phase="inspect", model=model.number))

    def state_of(self, model: Model) -> dict[str, Any]:
        """A model's parameters and buffers."""
        state: dict[str, Any] = decode(self.call("state_of", phase="inspect", model=model.number))
        return state

    def operators_run(self, model: Model, inputs: tuple[Any, ...]) -> list[str]:
        """The operators that PyTorch itself executes in one call, each time that it does."""
        names: list[str] = self.call("operators_run", phase="run", model=model.number, inputs=encode(inputs))
        return names

    def effort(self, model: Model, inputs: tuple[Any, ...], calls: int) -> list[dict[str, float]]:
        """What each of so many calls costs."""
        rows: list[dict[str, float]] = self.call(
            "effort", phase="run", model=model.number, inputs=encode(inputs), calls=calls
        )
        return rows

    def effort_at_first(self, model: Model, inputs: tuple[Any, ...], calls: int) -> dict[str, float]:
        """What the first of so many calls costs more than the median of the last three."""
        first, *later = self.effort(model, inputs, calls)
        return {what: first[what] - statistics.median(each[what] for each in later[-3:]) for what in first}

    def tracing_done(self, model: Model, inputs: tuple[Any, ...]) -> list[str]:
        """What of a compiler's work happens in one call."""
        seen: list[str] = self.call("tracing_done", phase="run", model=model.number, inputs=encode(inputs))
        return seen


def _plain(marks: Marks) -> list[list[int]]:
    return [list(mark) for mark in marks]
