"""What a clause sees of a device for a torch.compile backend: a method for each verb, typed, on plain values."""

# mypy: disable-error-code="empty-body"
# A method that declares a verb has no body: see conformance.toolchains.declarations.

from __future__ import annotations

import dataclasses
import statistics
from typing import Annotated, Any, Self

import torch

from conformance.api.case import Call
from conformance.api.errors import SubjectError
from conformance.compare.values import decode
from conformance.toolchains.client import CellDevice, PreparedCase, Threads
from conformance.toolchains.declarations import (
    Handle,
    Inputs,
    InputsOf,
    Mark,
    NamedValues,
    Phase,
    Saved,
    Value,
    ask,
    expected,
    reading,
)
from conformance.toolchains.dynamo.observations import Counts, Observation

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
    "Threads",
    "Trained",
]

#: Pairs (argument, dimension) that ``torch._dynamo.mark_dynamic`` is called for.
Marks = tuple[tuple[int, int], ...]
#: What a process and a thread have for everybody in them: name → value, as text.
Surroundings = dict[str, str]
#: What ``torch.export.save`` has written, what a compiled function is saved as, and cache artifacts.
Program = Annotated[bytes, Saved("program")]
PackageData = Annotated[bytes, Saved("package")]
CacheData = Annotated[bytes, Saved("cache")]
#: Losses, or the tensors of a result; for each time of going back the gradients by name, None for what the result does
#: not depend on; a result and its gradients; gradients alone.
Tensors = Annotated[list[torch.Tensor], Mark.VALUE]
Rounds = Annotated[list[dict[str, torch.Tensor | None]], Mark.VALUE]
ResultAndGradients = Annotated[tuple[Any, Any], Mark.VALUE]
Gradients = Annotated[tuple[torch.Tensor | None, ...], Mark.VALUE]


@dataclasses.dataclass(frozen=True, slots=True)
class Model(Handle):
    """A model that a device holds, compiled or not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Package(Handle):
    """A package that a device has loaded, and what of a compiler's work that took."""

    work: tuple[str, ...] = ()

    @classmethod
    def from_reply(cls, value: tuple[int, list[str]], reply: Any) -> Self:
        """The package that was just loaded."""
        number, work = expected(tuple[int, list[str]], value)
        return cls(number, tuple(work))


@dataclasses.dataclass(frozen=True, slots=True)
class Trained:
    """A call that was gone back from: the tensors of its result, which of them require grad, and the gradients."""

    results: Tensors
    requires_grad: list[bool]
    #: By the name of an argument ("argument 0") or a parameter; one mapping for each time that it went back.
    gradients: Rounds


class DynamoDevice(CellDevice):
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
    def sample_call(row: dict[str, Any]) -> Call:
        seen = Observation.from_reply(row)
        return Call(row["method"], decode(row["inputs"]), seen.result, seen)

    @property
    def said(self) -> str:
        """What the process wrote and warned of during the last verb."""
        reply = self.last_reply
        return "" if reply is None else "\n".join((reply.stdout, reply.stderr, *reply.warnings))

    # Making models.

    def build(self, case: PreparedCase, variant: int = 0) -> Model:
        """The case's model as it is; another ``variant`` has other weights."""
        return self._build(case.name, case.seed + variant)

    @ask()
    def _build(self, case: str, seed: int) -> Model: ...

    def _built(self, model: Model | PreparedCase) -> Model:
        return self.build(model) if isinstance(model, PreparedCase) else model

    def compile(self, model: Model | PreparedCase, *, by_name: bool = False, dynamic: bool | None = None) -> Model:
        """Hand a model, or a case's, to torch.compile; nothing is lowered yet. ``by_name`` gives it as users do."""
        return self._compile(self._built(model), by_name, dynamic)

    @ask(phase="lower")
    def _compile(self, model: Model, by_name: bool, dynamic: bool | None) -> Model: ...

    def compile_with(
        self, case: PreparedCase, *, options: dict[str, Any] | None = None, mode: str | None = None
    ) -> Model:
        """Hand a case's model to torch.compile with these options and this mode, in place of the author's."""
        return self._compile_with(self.build(case), options, mode)

    @ask(phase="lower")
    def _compile_with(self, model: Model, options: dict[str, Any] | None, mode: str | None) -> Model: ...

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
        self._lower(compiled, inputs, arranged, marks)
        return compiled

    @ask()
    def _lower(self, model: Model, inputs: Inputs, arranged: str, marks: Marks) -> None: ...

    @ask()
    def reset(self) -> None:
        """Let Dynamo forget what it has compiled."""

    @ask()
    def configure(self, **settings: Any) -> None:
        """Change settings of ``torch._dynamo.config``."""

    @ask(phase="release")
    def forget(self, model: Model) -> None:
        """Destroy one model."""

    @ask(phase="build")
    def disturb(self, model: Model, how: str) -> None:
        """Change a model's parameters and buffers: "in place", "replaced" or "loaded"."""

    # Calling them.

    def run(
        self,
        model: Model,
        inputs: tuple[Any, ...],
        *,
        stance: str = "default",
        arranged: str = "",
        marks: Marks = (),
        guard: str = "none",
        differentiable: bool = False,
    ) -> Observation:
        """Call a model with fresh copies of ``inputs``, under a ``stance`` of ``torch.compiler.set_stance`` and within
        a ``guard``: "none", "no_grad", "inference_mode", "autocast" (to bfloat16) or "autocast float16".

        ``arranged``: "" (as they are), "tied" (the second is the first), "overlapping" (both are parts of the first),
        "derived" (they are results of a computation that wants gradients); ``marks`` are dimensions that are marked
        dynamic. Every argument that can requires grad if ``differentiable``.
        """
        (seen,) = self.run_often(
            model,
            inputs,
            1,
            stance=stance,
            arranged=arranged,
            marks=marks,
            guard=guard,
            differentiable=differentiable,
        )
        return seen

    @ask(verb="run", each="repeat")
    def run_often(
        self,
        model: Model,
        inputs: Inputs,
        repeat: int,
        *,
        stance: str = "default",
        arranged: str = "",
        marks: Marks = (),
        guard: str = "none",
        differentiable: bool = False,
    ) -> list[Observation]:
        """Call a model so many times; the other arguments are those of :meth:`run`."""

    @ask(phase="run")
    def gradients(self, model: Model, inputs: Inputs, marks: Marks = ()) -> ResultAndGradients:
        """Call a model and go back: the result, and the gradients of ``inputs``."""

    @ask(phase="run", each="sizes")
    def run_at_sizes(self, model: Model, sizes: list[int]) -> list[Value]:
        """What a model of two matrices gives for each number of rows; the matrices are the same in each process."""

    @ask(phase="run", each="calls")
    def run_keeping(self, model: Model, calls: tuple[InputsOf, ...]) -> list[Value]:
        """Make the calls; the results, looked at after the last one."""

    @ask(phase="run", each="calls")
    def run_in_turns(self, models: list[Model], calls: tuple[InputsOf, ...]) -> list[Value]:
        """Call each of the models with the call at its place; the results, looked at after the last one."""

    # Training them.

    @ask(phase="run")
    def differentiate(
        self,
        model: Model,
        inputs: Inputs,
        wanted: tuple[bool, ...] | None = None,
        *,
        derived: bool = False,
        often: int = 1,
        written: bool = False,
    ) -> Trained:
        """Call a model and go back from its result ``often`` times; every argument requires grad unless ``wanted`` says
        which. If ``derived`` the model gets results of a computation on them; if ``written`` they and the parameters
        are written to in place ahead of going back."""

    def operators_run_in_training(self, model: Model, inputs: tuple[Any, ...]) -> dict[str, list[str]]:
        """The operators that PyTorch itself executes where a model is called with gradients, and on the way back: by
        which of the two it was, each time that it does. Arguments require grad that can."""
        return self._operators_run_in_training(model, inputs, [each.is_floating_point() for each in inputs])

    @ask(phase="run")
    def _operators_run_in_training(self, model: Model, inputs: Inputs, wanted: list[bool]) -> dict[str, list[str]]: ...

    @ask(phase="run")
    def differentiate_twice(self, model: Model, inputs: Inputs) -> Gradients:
        """Gradients of a sum that contains the squares of a model's gradients, one for each argument."""

    @ask(phase="run")
    def differentiate_together(self, model: Model, calls: tuple[InputsOf, ...]) -> Gradients:
        """Gradients of the sum of what these calls give: one for each argument of each, and for each parameter."""

    @ask(phase="run")
    def train(self, model: Model, calls: tuple[InputsOf, ...], rate: float = 0.5) -> tuple[Tensors, NamedValues]:
        """A step of gradient descent for each call: the losses, and the parameters afterwards."""

    # What surrounds a call, and what a call leaves behind.

    @ask()
    def surroundings(self, thread: str = "this", *, after: Phase = "inspect") -> Surroundings:
        """What the process has for everybody in it, and "this" thread or a "new" one; ``after`` is the phase to which a
        change is put down."""

    @ask(phase="run", each="calls")
    def run_in_threads(
        self, model: Model, calls: tuple[InputsOf, ...], *, threads: int, rounds: int = 3, guard: str = "none"
    ) -> Threads:
        """Make each call so many times in each of so many fresh threads, while their parent stands under a guard."""

    @ask(phase="run", each="seeds")
    def run_seeded(self, model: Model, inputs: Inputs, seeds: tuple[int, ...], calls: int) -> list[list[Value]]:
        """For each seed the results of so many calls, one after the other."""

    @ask(phase="run")
    def retained(self, model: Model, inputs: Inputs, *, differentiable: bool = False, calls: int = 3) -> list[str]:
        """Which tensors of so many calls are still in memory when nobody but the backend can hold them. If
        ``differentiable`` each call is gone back from."""

    # What one process writes and another reads.

    def export(self, model: Model | PreparedCase, inputs: tuple[Any, ...], marks: Marks = ()) -> bytes:
        """``torch.export`` a model, or a case's, and save the program; marked dimensions may have any size."""
        return self._export(self._built(model), inputs, marks)

    @ask()
    def _export(self, model: Model, inputs: Inputs, marks: Marks) -> Program: ...

    def load_exported(self, program: bytes, case: PreparedCase) -> Model:
        """The module of a saved program, not compiled."""
        return self._load_exported(program, case.name)

    @ask(phase="load")
    def _load_exported(self, program: Program, case: str) -> Model: ...

    def package(self, model: Model | PreparedCase, inputs: tuple[Any, ...]) -> bytes:
        """Compile a model, or a case's, ahead of time for such inputs, and save what came of it."""
        return self._package(self._built(model), inputs)

    @ask(phase="save")
    def _package(self, model: Model, inputs: Inputs) -> PackageData: ...

    @ask(phase="load")
    def load_package(self, package: PackageData) -> Package:
        """Load what :meth:`package` saved."""

    def run_package(self, package: Package, model: Model, inputs: tuple[Any, ...]) -> tuple[Any, tuple[str, ...]]:
        """Call a package with a model and inputs: the result, and what of a compiler's work was done meanwhile."""
        seen, work = self._run_package(package, model, inputs)
        return seen.result, work

    @ask(phase="run")
    def _run_package(self, package: Package, model: Model, inputs: Inputs) -> tuple[Observation, tuple[str, ...]]: ...

    @ask(phase="run")
    def operators_run_by_package(self, package: Package, model: Model, inputs: Inputs) -> list[str]:
        """The operators that PyTorch itself executes in one call of a package that was called before."""

    @ask(phase="save")
    def save_cache(self) -> CacheData | None:
        """The cache artifacts of what this process has compiled; None where nothing was cached."""

    @ask(phase="load")
    def load_cache(self, artifacts: CacheData) -> None:
        """Load cache artifacts into a process that has no other cache."""

    # Looking.

    @ask(phase="inspect")
    def counts(self, model: Model) -> Counts:
        """What was seen between Dynamo and the backend."""

    @ask(phase="inspect")
    def state_of(self, model: Model) -> NamedValues:
        """A model's parameters and buffers."""

    @ask(phase="run")
    def operators_run(self, model: Model, inputs: Inputs) -> list[str]:
        """The operators that PyTorch itself executes in one call, each time that it does."""

    @ask(phase="run", each="calls")
    def effort(self, model: Model, inputs: Inputs, calls: int) -> list[dict[str, float]]:
        """What each of so many calls costs."""

    def effort_at_first(self, model: Model, inputs: tuple[Any, ...], calls: int) -> dict[str, float]:
        """What the first of so many calls costs more than the median of the last three."""
        first, *later = self.effort(model, inputs, calls)
        with reading("effort"):
            return {what: first[what] - statistics.median(each[what] for each in later[-3:]) for what in first}

    @ask(phase="run")
    def tracing_done(self, model: Model, inputs: Inputs) -> list[str]:
        """What of a compiler's work happens in one call."""

    def compile_by_others(self, case: PreparedCase) -> tuple[dict[str, str], Any]:
        """What other backends get of a case's model, the text of each graph by where it comes from, and the results."""
        return self._compile_by_others(self.build(case), case.calls)

    @ask(phase="inspect")
    def _compile_by_others(self, model: Model, calls: tuple[InputsOf, ...]) -> tuple[dict[str, str], Value]: ...

    # How the backend is registered, and what it needs.

    @ask(phase="register")
    def listed(self) -> bool:
        """Whether PyTorch lists the backend."""

    @ask(phase="register")
    def registration(self) -> list[str]:
        """What a user would stumble over, a sentence each."""

    @ask(phase="inspect")
    def runtime_modules(self) -> list[str]:
        """The modules without which the backend cannot do its work, as far as they can be seen."""
