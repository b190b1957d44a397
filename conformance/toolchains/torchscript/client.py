"""What a clause sees of a device that speaks TorchScript: a method for each verb, typed, on plain values."""

# mypy: disable-error-code="empty-body"
# A method that declares a verb has no body: see conformance.toolchains.declarations.

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from conformance.api.case import Call
from conformance.compare.values import decode
from conformance.toolchains.client import CellDevice, PreparedCase, Threads
from conformance.toolchains.declarations import (
    Handle,
    Inputs,
    InputsOf,
    NamedValues,
    Parts,
    Saved,
    Value,
    ask,
    expect_count,
    expected,
    reading,
)
from conformance.toolchains.torchscript.answers import (
    Claims,
    Graph,
    Identity,
    LiteOperators,
    ProcessState,
    Signature,
    Watched,
    bundled,
)

__all__ = ["Ability", "Artifact", "Module", "PreparedCase", "Step", "Threads", "TorchScriptDevice"]

#: A saved module, as bytes.
ArtifactData = Annotated[bytes, Saved()]
#: The same where it is one for the lite interpreter.
LiteArtifactData = Annotated[bytes, Saved("lite")]


@dataclasses.dataclass(frozen=True, slots=True)
class Module(Handle):
    """A module that a device holds: scripted, lowered, loaded or composed."""

    #: What was said while it was made: Python warnings, and what the process wrote to stderr.
    warnings: str = ""
    extra_files: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_reply(cls, value: Any, reply: Any) -> Self:
        """The module that was just made."""
        return cls(expected(int, value), "\n".join((*reply.warnings, reply.stderr)))


@dataclasses.dataclass(frozen=True, slots=True)
class Artifact:
    """A saved module, as bytes, for the full JIT or for the lite interpreter."""

    data: bytes
    runtime: str

    travels_as: ClassVar[Parts] = {"artifact": ("data", ArtifactData), "runtime": ("runtime", str)}


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """Something that is done within a guard: an artifact is loaded (the module of the steps that follow), or a call is
    made, which succeeds or not."""

    artifact: Artifact | None = None
    call: tuple[str, tuple[Any, ...]] | None = None

    @property
    def action(self) -> Artifact | Call:
        """What is loaded, or called."""
        if self.artifact is not None:
            return self.artifact
        assert self.call is not None
        return Call(*self.call, expected=None)


@dataclasses.dataclass(frozen=True, slots=True)
class Ability:
    """What was measured of compile and execute: None where it worked, the error's text where not."""

    compile_error: str | None
    execute_error: str | None

    @classmethod
    def from_reply(cls, value: dict[str, str | None], reply: Any) -> Self:
        """What the verb ``measure`` found."""
        found = expected(dict[str, str | None], value)
        return cls(found["compile"], found["execute"])

    @property
    def state(self) -> str:
        """As availability states are written: compile/execute, "yes" or "no" each."""
        return "/".join("yes" if error is None else "no" for error in (self.compile_error, self.execute_error))


class TorchScriptDevice(CellDevice):
    """A device that speaks TorchScript."""

    # Making modules.

    def script(self, case: PreparedCase, variant: int = 0) -> Module:
        """The case's module, scripted; another ``variant`` has other weights."""
        return self._script(case.name, case.seed + variant)

    @ask()
    def _script(self, case: str, seed: int) -> Module: ...

    def lower(self, module: Module | PreparedCase, spec: dict[str, Any] | None = None) -> Module:
        """Lower a scripted module, or a case's module after scripting it; ``spec`` replaces the method compile spec of
        the author's class."""
        return self._lower(self.script(module) if isinstance(module, PreparedCase) else module, spec)

    @ask()
    def _lower(self, module: Module, spec: NamedValues | None) -> Module: ...

    @ask(phase="lower")
    def lower_badly(self, module: Module, fault: str) -> None:
        """Lower with a ``fault``: "unknown method", "empty spec", "key that is no string", or "module that is not
        scripted"; returns only if nothing was raised."""

    @ask(phase="lower")
    def lower_unregistered(self, module: Module, name: str) -> None:
        """Lower to a backend ``name`` that nobody has registered; returns only if nothing was raised."""

    @ask(phase="script")
    def embed(self, *children: Module) -> Module:
        """A scripted parent of one or two modules."""

    def lower_selectively(
        self, cases: list[PreparedCase], names: list[str], scripted: bool = True
    ) -> tuple[Module, Module]:
        """A scripted parent of two cases' modules, and the same with its children ``names`` lowered. Unless it is
        ``scripted`` the parent is passed as it is, which PyTorch refuses."""
        seeds = [case.seed + index for index, case in enumerate(cases)]
        return self._lower_selectively([case.name for case in cases], seeds, names, scripted)

    @ask(phase="lower")
    def _lower_selectively(
        self, cases: list[str], seeds: list[int], names: list[str], scripted: bool
    ) -> tuple[Module, Module]: ...

    @ask(phase="copy")
    def copy_deeply(self, module: Module) -> Module:
        """``copy.deepcopy`` of a module."""

    @ask(phase="release")
    def forget(self, module: Module) -> None:
        """Destroy one module."""

    @ask(phase="script")
    def disturb(self, module: Module) -> None:
        """Change every parameter and buffer of a scripted module in place."""

    @ask(phase="register")
    def register_again(self) -> None:
        """Load the backend a second time in the same process."""

    @ask(phase="register")
    def load_copy_of_libraries(self) -> int:
        """Load copies of the backend's libraries, which register the same name again; how many there are."""

    # Artifacts.

    def save(
        self,
        module: Module,
        via: str = "buffer",
        extra_files: dict[str, str] | None = None,
        runtime: str | None = None,
        debug_info: bool = True,
    ) -> Artifact:
        """Save a module for a ``runtime``, by default the cell's, ``via`` a "buffer", a "file" or "bytes".
        ``debug_info`` is whether an artifact for the lite interpreter gets the table of debug handles."""
        runtime = runtime or self.runtime
        return Artifact(self._save(module, runtime, via, extra_files, debug_info), runtime)

    @ask()
    def _save(
        self, module: Module, runtime: str, via: str, extra_files: dict[str, str] | None, debug_info: bool
    ) -> ArtifactData: ...

    def save_inner(self, module: Module) -> Artifact:
        """The lowered module without its wrapper, the layout of releases before pytorch/pytorch#71597."""
        return Artifact(self._save_inner(module), "full")

    @ask(phase="save")
    def _save_inner(self, module: Module) -> ArtifactData: ...

    def load(self, artifact: Artifact, via: str = "buffer", extra_files: list[str] | None = None) -> Module:
        """Load an artifact ``via`` a "buffer" or a "file", with those of its ``extra_files``."""
        module, texts = self._load(artifact, via, extra_files)
        return Module(module.number, extra_files=texts)

    @ask()
    def _load(self, artifact: Artifact, via: str, extra_files: list[str] | None) -> tuple[Module, dict[str, str]]: ...

    @ask(phase="load")
    def load_many(self, artifact: Artifact, call: Call, count: int) -> list[int]:
        """Load an artifact ``count`` times, and make the call on each; the resident memory in bytes after each
        quarter."""

    def lite_operators(self, artifact: Artifact) -> LiteOperators:
        """The ``operators`` that an artifact for the lite interpreter names, its ``bytecode_version``, and those that
        the process does not have: ``unknown``."""
        return self._lite_operators(artifact.data)

    @ask(phase="load")
    def _lite_operators(self, artifact: LiteArtifactData) -> LiteOperators: ...

    # Running.

    def run(self, module: Module, method: str, inputs: tuple[Any, ...]) -> Any:
        """What a method returns for fresh copies of ``inputs``."""
        return self.run_call(module, Call(method, inputs, expected=None))[0]

    @ask(verb="run", each="repeat")
    def run_call(self, module: Module, call: Call, repeat: int = 1) -> list[Value]:
        """What a call returns, each of ``repeat`` times."""

    def run_watched(self, module: Module, call: Call, others: list[Call]) -> Watched:
        """What a call did to its inputs and to the memory of its outputs, also while the ``others`` of its method are
        made: positions of ``mutated_inputs`` and ``aliased_inputs``, whether there are ``shared_outputs``, and whether
        there is a ``changed_result``."""
        return self._run_watched(module, call, [other for other in others if other.method == call.method])

    @ask(phase="run")
    def _run_watched(self, module: Module, call: Call, others: list[InputsOf]) -> Watched: ...

    @ask(phase="run", each="calls")
    def run_in_turns(self, modules: list[Module], calls: list[Call]) -> list[Value]:
        """Make each call on the module at its place, one after the other; the results, looked at after the last."""

    # Under the guards of inference, and in threads of its own.

    @ask(phase="load")
    def load_under(self, guard: str, artifact: Artifact) -> Module:
        """Load within a guard: "no_grad", "inference_mode" or "none"."""

    @ask(phase="run")
    def run_under(self, guard: str, module: Module, method: str, inputs: Inputs, differentiable: bool = False) -> Value:
        """What a method returns within a guard; with ``differentiable``, for inputs that require grad."""

    def run_watched_under(self, guard: str, module: Module, call: Call, others: list[Call]) -> Watched:
        """As :meth:`run_watched`, within a guard."""
        same = [other for other in others if other.method == call.method]
        return self._run_watched_under(guard, module, call, same)

    @ask(phase="run")
    def _run_watched_under(self, guard: str, module: Module, call: Call, others: list[InputsOf]) -> Watched: ...

    @ask(phase="inspect")
    def modes(self) -> dict[str, bool]:
        """The grad mode and the inference mode of the thread in which verbs run."""

    def modes_under(self, guard: str, steps: list[Step]) -> list[dict[str, bool]]:
        """The thread's modes within a guard: at first, and after each step."""
        modes = self._modes_under(guard, [step.action for step in steps])
        expect_count(modes, 1 + len(steps))
        return modes

    @ask(phase="run")
    def _modes_under(self, guard: str, steps: list[Artifact | Call]) -> list[dict[str, bool]]: ...

    @ask(phase="run", each="calls")
    def run_in_threads(
        self, modules: list[Module], calls: list[Call], threads: int = 4, rounds: int = 6, guard: str = "none"
    ) -> Threads:
        """Run every call on the modules in several threads at once, which take turns in what they begin with; the
        thread that starts them stands within the guard."""

    @ask(phase="load", each="call")
    def load_in_threads(self, artifact: Artifact, call: Call, threads: int = 4) -> Threads:
        """Load an artifact in several threads at once, and run a call on what each has loaded."""

    def run_at_once(self, module: Module, calls: Sequence[Call], repeat: int) -> list[Any]:
        """What each of these calls of one method returns, made ``repeat`` times in a thread of its own, all at once."""
        return self._run_at_once(module, calls[0].method, calls, repeat)

    @ask(phase="run", each="inputs")
    def _run_at_once(self, module: Module, method: str, inputs: Sequence[InputsOf], repeat: int) -> list[Value]: ...

    # Looking.

    @ask(phase="inspect")
    def mapped_files(self) -> list[str]:
        """Every file of which a part is in the memory of the process."""

    @ask(phase="inspect")
    def signatures(self, module: Module) -> dict[str, Signature]:
        """Each public method of a module: its ``arguments`` (names and types), which of them have ``defaults``, and
        what it ``returns``."""

    @ask(phase="inspect")
    def state_of(self, module: Module) -> dict[str, str]:
        """A digest of each method's code, each attribute and each tensor of a scripted module, submodules included."""

    @ask(phase="inspect")
    def exposes(self, module: Module, original: Module) -> list[str]:
        """The attributes of the ``original`` module that a lowered one still has under the same name."""

    @ask(phase="inspect")
    def graph_of(self, module: Module, method: str) -> Graph:
        """The ``operators`` of a method after inlining, the source ``lines`` of each, and the custom methods that it
        ``calls``."""

    @ask(phase="inspect")
    def work_of(self, module: Module, method: str) -> dict[str, int]:
        """How often each operator computes that no optimisation of PyTorch's folds away."""

    @ask(phase="inspect")
    def children_of(self, module: Module) -> dict[str, str]:
        """The qualified type name of each child of a scripted module."""

    @ask(phase="inspect")
    def process_state(self) -> ProcessState:
        """Everything about the process that a backend must leave as it is."""

    @ask(phase="inspect")
    def identity(self) -> Identity:
        """The process's id and the folders that it works with."""

    # Asking the backend itself.

    @ask(phase="probe")
    def given_spec(self, module: Module) -> NamedValues:
        """The method compile spec that the author's class gives for a scripted module."""

    @ask(phase="probe")
    def read_spec(self, lowered: Module) -> NamedValues:
        """The method compile spec that a lowered module holds."""

    @ask(phase="probe")
    def received_spec(self, lowered: Module) -> NamedValues | None:
        """The method compile spec that preprocess saw, as the backend kept it; None where it keeps none."""

    @ask(phase="probe")
    def preprocess_count(self) -> int | None:
        """How often the backend has preprocessed in this process, as it counts itself; None where it does not."""

    def claims(self, lowered: Module, count: int = 1) -> Claims:
        """The ``answers`` of ``is_available()`` to ``count`` questions at most; the third slowest: ``slow_seconds``."""
        found = self._claims(lowered, count)
        expect_count(found["answers"][:1], 1)  # there are fewer than were asked for where they are slow, but one
        return found

    @ask(phase="probe")
    def _claims(self, lowered: Module, count: int) -> Claims: ...

    @ask(phase="probe")
    def claims_directly(self) -> bool:
        """What a fresh object of the backend's class answers, with no module around it."""

    @ask(phase="probe")
    def measure(self, lowered: Module, call: Call) -> Ability:
        """What the backend can do here, whatever it claims."""

    # Bundled inputs.

    @ask()
    def bundle(
        self, module: Module, inputs: dict[str, list[Inputs]], info: list[str] | None = None, inflate: str = "none"
    ) -> None:
        """Bundle inputs to a module in place, for each method by name; ``inflate`` is "none", or "expression": the
        first tensor is stored halved, and inflated on reading."""

    @ask(phase="bundle")
    def bundle_by_cloning(self, module: Module, inputs: list[Inputs]) -> Module:
        """A clone of a module with bundled inputs, by ``bundle_inputs``."""

    def read_bundle(self, module: Module, methods: list[str]) -> dict[str, Any]:
        """What every function for reading bundled inputs says, decoded."""
        read = self._read_bundle(module, methods)
        with reading("read_bundle"):
            functions = expected(dict[str, dict[str, Any]], decode(read["functions_and_info"]))
            found = {"functions_and_info": functions, "for": {each: bundled(read["for"][each]) for each in methods}}
            if "forward" in methods:
                found |= {"all": bundled(read["all"]), "count": read["count"]}
        return found

    @ask(phase="bundle")
    def _read_bundle(self, module: Module, methods: list[str]) -> dict[str, Any]: ...

    @ask(phase="bundle")
    def has_bundle(self, module: Module) -> bool:
        """Whether a module has bundled inputs."""

    @ask(phase="script")
    def add_attribute(self, module: Module, name: str, value: Value) -> None:
        """Give a lowered module an attribute, and a method ``get_<name>`` that returns it."""
