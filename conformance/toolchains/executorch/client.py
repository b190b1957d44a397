"""What a clause sees of a device with ExecuTorch: a method for each verb, typed, on plain values."""

# mypy: disable-error-code="empty-body"
# A method that declares a verb has no body: see conformance.toolchains.declarations.

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

from conformance.api.case import Call
from conformance.toolchains.client import CellDevice, PreparedCase, Threads
from conformance.toolchains.declarations import Handle, Inputs, Mark, Saved, Value, ask

__all__ = [
    "COMPANION",
    "Called",
    "Contents",
    "Delegation",
    "Event",
    "ExecuTorchDevice",
    "Exported",
    "HandleMap",
    "Lowered",
    "Method",
    "PreparedCase",
    "Program",
    "WithData",
]

#: The bytes of a .pte.
ProgramData = Annotated[bytes, Saved("pte")]
#: The bytes of a .bpte, a bundled program.
BundleData = Annotated[bytes, Saved("bpte")]
#: The id of the delegate that stands beside the one under test, where a clause asks for two.
COMPANION = "XnnpackBackend"
#: What a method gives: its outputs, flat, whatever the containers of the model are.
Outputs = Annotated[list[Any], Mark.VALUE]


@dataclasses.dataclass(frozen=True, slots=True)
class Exported(Handle):
    """The methods of a case's module, exported."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lowered(Handle):
    """The same after partitioning and preprocess."""


@dataclasses.dataclass(frozen=True, slots=True)
class Program(Handle):
    """A program that a target has loaded."""


@dataclasses.dataclass(frozen=True, slots=True)
class Method(Handle):
    """A method of a program, whose delegates are initialised."""


@dataclasses.dataclass(frozen=True, slots=True)
class Delegation:
    """Who computes a lowered method: the ids of the ``backends`` that it calls, how many nodes are ``delegated``, and
    the operators that are ``left`` to ExecuTorch's kernels."""

    backends: list[str]
    delegated: int
    left: list[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """What a .pte says of a method: the ids of its ``delegates``, those of its ``calls`` in their order, its
    ``operators``, and the compile ``specs`` of each delegate."""

    delegates: list[str]
    calls: list[str]
    operators: list[str]
    specs: list[dict[str, bytes]]


@dataclasses.dataclass(frozen=True, slots=True)
class HandleMap:
    """The debug handles that the preprocess of one delegate ``named``, for which ``ids`` of its own, and those that its
    part of the graph ``has``."""

    named: list[int]
    ids: list[str]
    has: list[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """What was recorded of a call: the ``name`` that the runtime gave it, or the ``id`` that a delegate did; the number
    of the ``instruction``, and when it ``begins`` and ``ends``."""

    name: str
    id: str
    instruction: int
    begins: int
    ends: int


@dataclasses.dataclass(frozen=True, slots=True)
class WithData:
    """A .pte, and what each .ptd that belongs to it has."""

    program: ProgramData
    data: list[bytes]


@dataclasses.dataclass(frozen=True, slots=True)
class Called:
    """What became of calls whose caller owns all memory: ``code`` is that of ExecuTorch's error at which they ended, in
    the ``phase`` "load" or "run"; 0 for none, -1 for an exception of C++. ``results`` are those of each call before
    that; ``findings`` what memory tells; ``temporary`` how many bytes of temporary memory were asked for."""

    code: int
    phase: str
    results: list[Outputs]
    findings: list[str]
    temporary: int


class ExecuTorchDevice(CellDevice):
    """A device with ExecuTorch: a host lowers, a target runs."""

    # The host.

    def export(self, case: PreparedCase, variant: int = 0) -> Exported:
        """The case's module, exported; another ``variant`` has other weights."""
        return self._export(case.name, case.seed + variant)

    @ask()
    def _export(self, case: str, seed: int) -> Exported: ...

    def export_with_data_aside(self, case: PreparedCase, variant: int = 0) -> Exported:
        """The case's ``forward``, exported with its weights tagged for a file of their own."""
        return self._export_with_data_aside(case.name, case.seed + variant)

    @ask(phase="export")
    def _export_with_data_aside(self, case: str, seed: int) -> Exported: ...

    @ask(phase="emit")
    def emit_with_data(self, lowered: Lowered) -> WithData:
        """The program, and what each .ptd that belongs to it has."""

    @ask(phase="lower")
    def has_quantizer(self, case: str) -> bool:
        """Whether the backend has a quantizer for a case."""

    def export_quantised(self, case: PreparedCase) -> Exported:
        """The case's ``forward`` after PT2E: prepared by the backend's quantizer, calibrated with the case's samples,
        converted, and exported again."""
        return self._export_quantised(case.name, case.seed)

    @ask(phase="export")
    def _export_quantised(self, case: str, seed: int) -> Exported: ...

    @ask(phase="inspect")
    def quanta(self, exported: Exported) -> list[float]:
        """For each output of a quantised ``forward`` the step between two values of it; 0 where it is not quantised."""

    def lower(
        self,
        source: Exported | PreparedCase,
        *,
        by_steps: bool = False,
        left: Sequence[str] = (),
        beside: str = "",
        shared: bool = False,
    ) -> Lowered:
        """Lower what was exported, or a case, with the backend's partitioner; but for the methods that are ``left`` to
        ExecuTorch's kernels. ``by_steps`` is the older route, ``to_edge`` and then ``to_backend``.

        ``beside`` another delegate (:data:`COMPANION`): its partitioner is asked "first" or "last" for each method, or
        "instead" for those that are left. One partitioner object that is ``shared`` serves all methods, and all
        lowerings of the device that share.
        """
        exported = self.export(source) if isinstance(source, PreparedCase) else source
        return self._lower(exported, by_steps, list(left), beside, shared)

    @ask()
    def _lower(self, exported: Exported, by_steps: bool, left: list[str], beside: str, shared: bool) -> Lowered: ...

    @ask()
    def emit(self, lowered: Lowered, planned: bool = True, alignment: int | None = None) -> ProgramData:
        """The program as bytes; memory for its inputs and outputs is ``planned``, or the caller's. Blobs begin at
        multiples of the ``alignment``; None leaves it to ExecuTorch."""

    def bundle(self, lowered: Lowered, calls: Sequence[Call]) -> bytes:
        """The program with the inputs of calls, and what is expected of each, as bytes."""
        return self._bundle(lowered, list(calls), [call.expected for call in calls])

    @ask(phase="emit")
    def _bundle(self, lowered: Lowered, calls: list[Call], expected: list[Value]) -> BundleData: ...

    @ask(phase="export")
    def run_exported(self, exported: Exported, call: Call) -> Outputs:
        """What an exported program itself gives, in PyTorch."""

    @ask(phase="inspect")
    def digest(self, exported: Exported) -> dict[str, str]:
        """A digest of each part of what was exported."""

    @ask(phase="inspect")
    def delegation(self, lowered: Lowered) -> dict[str, Delegation]:
        """What became of each method."""

    @ask(phase="inspect")
    def contents(self, program: ProgramData) -> dict[str, Contents]:
        """What a .pte says of each method."""

    @ask(phase="inspect")
    def blobs(self, program: ProgramData) -> list[bytes]:
        """What preprocess made: the blob of each delegate of a .pte."""

    @ask(phase="inspect")
    def with_blob(self, program: ProgramData, index: int, blob: bytes) -> ProgramData:
        """The same .pte with another blob, well formed around it."""

    @ask(phase="inspect")
    def with_specs(self, program: ProgramData, index: int, specs: dict[str, bytes]) -> ProgramData:
        """The same .pte with other compile specs for one of its delegates."""

    @ask(phase="lower")
    def specs_given(self, exported: Exported) -> list[dict[str, bytes]]:
        """The compile specs of each DelegationSpec that the partitioner gives, before preprocess has them."""

    @ask(phase="inspect")
    def handle_maps(self, lowered: Lowered) -> list[HandleMap]:
        """The debug handles of each delegate."""

    @ask(phase="inspect")
    def identity(self) -> dict[str, Any]:
        """The process's id and the folders that it works with."""

    # The target.

    @ask()
    def load(self, program: ProgramData, via: str = "bytes") -> Program:
        """Load a .pte ``via`` its "bytes", a "bytearray", a "path", or an open "file"."""

    @ask(phase="load")
    def load_with_data(self, program: ProgramData, data: bytes) -> Program:
        """Load a .pte with the data of a .ptd."""

    @ask(phase="load")
    def load_again(self, program: ProgramData, via: str) -> Program:
        """The same, where a program was loaded from the same bytes before, with all of its methods, and is gone."""

    @ask(phase="load")
    def load_traced(self, program: ProgramData) -> Program:
        """Load a .pte with tracing on."""

    def trace(self, program: bytes, calls: Sequence[Call]) -> list[list[Event]]:
        """Make calls of one method of a .pte that is loaded with tracing on; what was recorded of each."""
        return self._trace(program, list(calls))

    @ask(phase="run", each="calls")
    def _trace(self, program: ProgramData, calls: list[Call]) -> list[list[Event]]: ...

    @ask(phase="init", each="methods")
    def load_unlinked(self, program: ProgramData, methods: Sequence[str]) -> list[Method]:
        """Load a .pte and methods of it from a file, and remove the file."""

    def load_many(self, program: bytes, call: Call, count: int) -> list[int]:
        """Load a .pte ``count`` times, make the call on each and drop it; the resident memory in bytes after each
        quarter."""
        return self._load_many(program, call, count)

    @ask(phase="run")
    def _load_many(self, program: ProgramData, call: Call, count: int) -> list[int]: ...

    @ask(phase="init")
    def load_method(self, program: Program, name: str) -> Method:
        """Load a method, which initialises its delegates."""

    def open(self, program: bytes, methods: Sequence[str] = ("forward",)) -> dict[str, Method]:
        """Load a .pte, and methods of it."""
        loaded = self.load(program)
        return {name: self.load_method(loaded, name) for name in methods}

    def run(self, method: Method, inputs: tuple[Any, ...]) -> Any:
        """What a method gives for fresh copies of the inputs."""
        return self.run_often(method, inputs, 1)[0]

    @ask(verb="run", each="repeat")
    def run_often(self, method: Method, inputs: Inputs, repeat: int) -> list[Value]:
        """The same, each of ``repeat`` times."""

    @ask(phase="run")
    def run_same(self, method: Method, tensor: Value, count: int) -> Outputs:
        """What a method gives for one tensor as each of ``count`` inputs."""

    @ask(phase="run")
    def run_in_turns(self, program: ProgramData, call: Call) -> list[Value]:
        """A program, loaded by one thread, called by two others one after the other, and dropped by a fourth."""

    @ask(phase="run", each="calls")
    def run_at_once(self, methods: Sequence[Method], calls: Sequence[Call], repeat: int) -> Threads:
        """Each call by a thread of its own, with a method of its own, ``repeat`` times."""

    @ask(phase="run")
    def run_watched(self, method: Method, inputs: Inputs) -> list[int]:
        """The positions of the inputs that a call has changed."""

    def forget(self, thing: Program | Method) -> None:
        """Destroy a program, or a method; a program lives until its last method is gone."""
        self._forget(thing)

    @ask(phase="release")
    def _forget(self, thing: Handle) -> None: ...

    @ask(phase="run")
    def verify(self, bundled: BundleData, method: str, index: int) -> None:
        """Let the runtime hold a method's outputs against what a bundled program expects of its input ``index``.

        Raises SubjectError where they differ.
        """

    @ask(phase="run")
    def run_bundled(self, bundled: BundleData, call: Call) -> Outputs:
        """What a method of the program in a bundled one gives."""

    # The target, where a caller in C++ owns all memory.

    @ask(phase="load")
    def caller_lacks(self) -> str:
        """Why there is no caller written in C++; empty where there is one."""

    @ask(phase="run")
    def call_natively(
        self,
        program: ProgramData,
        calls: Sequence[Call],
        data: bytes = b"",
        *,
        temporary: int = -1,
        lasting: int = -1,
        backend: str = "",
        options: dict[str, bool | int | str] | None = None,
    ) -> Called:
        """Load the method of some calls, make them, and let it go. It gets so many bytes of ``temporary`` and of
        ``lasting`` memory, -1 for any amount; the ``data`` of a .ptd; and load-time ``options`` for a backend."""

    @ask(phase="run", each="calls")
    def call_natively_at_once(self, program: ProgramData, calls: Sequence[Call], repeat: int) -> Threads:
        """Each call by a thread of its own with a program of its own, ``repeat`` times, with no lock of Python's."""

    @ask(phase="run")
    def set_option(self, backend: str, key: str, value: bool | int | str) -> int:
        """Set an option of a delegate while programs run: the code of ExecuTorch's error, 0 for none."""

    @ask(phase="run")
    def get_option(self, backend: str, key: str, value: bool | int | str) -> int:
        """Ask a delegate for an option, of the type that the value has: the code of ExecuTorch's error, 0 for none."""

    # The registries of the runtime.

    @ask(phase="register")
    def register_again(self) -> None:
        """Load the run-time half of the backend a second time."""

    @ask(phase="inspect")
    def registered(self) -> list[str]:
        """The delegates that the runtime of this process has."""

    @ask(phase="probe")
    def available(self, name: str, count: int = 1) -> list[bool]:
        """What a delegate answers, asked so often whether it is available."""
