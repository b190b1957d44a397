"""What a clause sees of a device that speaks TorchScript: a method for each verb, typed, on plain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from conformance.api.case import Call
from conformance.compare.values import decode, encode
from conformance.toolchains.client import CellDevice, PreparedCase

__all__ = ["Ability", "Artifact", "Module", "PreparedCase", "TorchScriptDevice"]


@dataclasses.dataclass(frozen=True, slots=True)
class Module:
    """A module that a device holds: scripted, lowered, loaded or composed."""

    number: int
    #: What was said while it was made: Python warnings, and what the process wrote to stderr.
    warnings: str = ""
    extra_files: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Artifact:
    """A saved module, as bytes, for the full JIT or for the lite interpreter."""

    data: bytes
    runtime: str


class TorchScriptDevice(CellDevice):
    """A device that speaks TorchScript."""

    # Making modules.

    def script(self, case: PreparedCase, variant: int = 0) -> Module:
        """The case's module, scripted; another ``variant`` has other weights."""
        return self._made("script", case=case.name, seed=case.seed + variant)

    def lower(self, module: Module | PreparedCase, spec: dict[str, Any] | None = None) -> Module:
        """Lower a scripted module, or a case's module after scripting it."""
        if isinstance(module, PreparedCase):
            module = self.script(module)
        return self._made("lower", module=module.number, spec=None if spec is None else encode(spec))

    def lower_badly(self, module: Module, fault: str) -> None:
        self.call("lower_badly", phase="lower", module=module.number, fault=fault)

    def lower_unregistered(self, module: Module, name: str) -> None:
        self.call("lower_unregistered", phase="lower", module=module.number, name=name)

    def embed(self, *children: Module) -> Module:
        """A scripted parent of one or two modules."""
        return self._made("embed", phase="script", children=[child.number for child in children])

    def lower_selectively(
        self, cases: list[PreparedCase], names: list[str], scripted: bool = True
    ) -> tuple[Module, Module]:
        """A scripted parent of two cases' modules, and the same with its children ``names`` lowered."""
        original, lowered = self.call(
            "lower_selectively",
            phase="lower",
            cases=[case.name for case in cases],
            seeds=[case.seed + index for index, case in enumerate(cases)],
            names=names,
            scripted=scripted,
        )
        return Module(original), Module(lowered)

    def copy_deeply(self, module: Module) -> Module:
        return self._made("copy_deeply", phase="copy", module=module.number)

    def forget(self, module: Module) -> None:
        """Destroy one module."""
        self.call("forget", phase="release", module=module.number)

    def disturb(self, module: Module) -> None:
        """Change every parameter and buffer of a scripted module in place."""
        self.call("disturb", phase="script", module=module.number)

    def register_again(self) -> None:
        self.call("register_again", phase="register")

    def load_copy_of_libraries(self) -> int:
        copies: int = self.call("load_copy_of_libraries", phase="register")
        return copies

    def switch(self, environment: dict[str, str | None]) -> None:
        """Change environment variables of the running process."""
        self.call("switch", environment=environment)

    # Artifacts.

    def save(
        self,
        module: Module,
        via: str = "buffer",
        extra_files: dict[str, str] | None = None,
        runtime: str | None = None,
        debug_info: bool = True,
    ) -> Artifact:
        runtime = runtime or self.runtime
        data = self.call(
            "save", module=module.number, runtime=runtime, via=via, extra_files=extra_files, debug_info=debug_info
        )
        return Artifact(data, runtime)

    def save_inner(self, module: Module) -> Artifact:
        """The lowered module without its wrapper, the layout of releases before pytorch/pytorch#71597."""
        return Artifact(self.call("save_inner", phase="save", module=module.number), "full")

    def load(self, artifact: Artifact, via: str = "buffer", extra_files: list[str] | None = None) -> Module:
        number, texts = self.call(
            "load", artifact=artifact.data, runtime=artifact.runtime, via=via, extra_files=extra_files
        )
        return Module(number, extra_files=texts)

    def load_many(self, artifact: Artifact, call: Call, count: int) -> list[int]:
        """Load an artifact ``count`` times, and make the call on each; the resident memory in bytes after each
        quarter."""
        readings: list[int] = self.call(
            "load_many",
            phase="load",
            artifact=artifact.data,
            runtime=artifact.runtime,
            method=call.method,
            inputs=encode(call.inputs),
            count=count,
        )
        return readings

    def lite_operators(self, artifact: Artifact) -> dict[str, Any]:
        found: dict[str, Any] = self.call("lite_operators", phase="load", artifact=artifact.data)
        return found

    # Running.

    def run(self, module: Module, method: str, inputs: tuple[Any, ...]) -> Any:
        """What a method returns for fresh copies of ``inputs``."""
        return decode(self.call("run", module=module.number, method=method, inputs=encode(inputs))[0])

    def run_call(self, module: Module, call: Call, repeat: int = 1) -> list[Any]:
        """What a call returns, each of ``repeat`` times."""
        results = self.call("run", module=module.number, method=call.method, inputs=encode(call.inputs), repeat=repeat)
        return [decode(result) for result in results]

    def run_watched(self, module: Module, call: Call, others: list[Call]) -> dict[str, Any]:
        """What a call did to its inputs and to the memory of its outputs; see the verb of that name."""
        found: dict[str, Any] = self.call(
            "run_watched",
            phase="run",
            module=module.number,
            method=call.method,
            inputs=encode(call.inputs),
            others=[encode(other.inputs) for other in others if other.method == call.method],
        )
        return found

    # Under the guards of inference, and in threads of its own.

    def load_under(self, guard: str, artifact: Artifact) -> Module:
        """Load within a guard: "no_grad", "inference_mode" or "none"."""
        return self._made("load_under", phase="load", guard=guard, artifact=artifact.data, runtime=artifact.runtime)

    def run_under(
        self, guard: str, module: Module, method: str, inputs: tuple[Any, ...], differentiable: bool = False
    ) -> Any:
        """What a method returns within a guard; with ``differentiable``, for inputs that require grad."""
        found = self.call(
            "run_under",
            phase="run",
            guard=guard,
            module=module.number,
            method=method,
            inputs=encode(inputs),
            differentiable=differentiable,
        )
        return decode(found)

    def modes(self) -> dict[str, bool]:
        """The grad mode and the inference mode of the thread in which verbs run."""
        modes: dict[str, bool] = self.call("modes", phase="inspect")
        return modes

    def modes_under(self, guard: str, steps: list[Step]) -> list[dict[str, bool]]:
        """The thread's modes within a guard: at first, and after each step."""
        modes: list[dict[str, bool]] = self.call(
            "modes_under", phase="run", guard=guard, steps=[step.as_message() for step in steps]
        )
        return modes

    def run_in_threads(
        self, modules: list[Module], calls: list[Call], threads: int = 4, rounds: int = 6, guard: str = "none"
    ) -> Threads:
        """Run every call on the modules in several threads at once, which take turns in what they begin with; the
        thread that starts them stands within the guard."""
        found = self.call(
            "run_in_threads",
            phase="run",
            modules=[module.number for module in modules],
            calls=[{"method": call.method, "inputs": encode(call.inputs)} for call in calls],
            threads=threads,
            rounds=rounds,
            guard=guard,
        )
        return _threads(found)

    def load_in_threads(self, artifact: Artifact, call: Call, threads: int = 4) -> Threads:
        """Load an artifact in several threads at once, and run a call on what each has loaded."""
        found = self.call(
            "load_in_threads",
            phase="load",
            artifact=artifact.data,
            runtime=artifact.runtime,
            method=call.method,
            inputs=encode(call.inputs),
            threads=threads,
        )
        return _threads(found)

    def run_at_once(self, module: Module, calls: Sequence[Call], repeat: int) -> list[Any]:
        """What each of these calls of one method returns, made ``repeat`` times in a thread of its own, all at once."""
        inputs = [encode(call.inputs) for call in calls]
        results = self.call(
            "run_at_once", phase="run", module=module.number, method=calls[0].method, inputs=inputs, repeat=repeat
        )
        return [decode(result) for result in results]

    # Looking.

    def mapped_files(self) -> list[str]:
        """Every file of which a part is in the memory of the process."""
        found: list[str] = self.call("mapped_files", phase="inspect")
        return found

    def signatures(self, module: Module) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.call("signatures", phase="inspect", module=module.number)
        return found

    def state_of(self, module: Module) -> dict[str, str]:
        found: dict[str, str] = self.call("state_of", phase="inspect", module=module.number)
        return found

    def exposes(self, module: Module, original: Module) -> list[str]:
        found: list[str] = self.call("exposes", phase="inspect", module=module.number, original=original.number)
        return found

    def graph_of(self, module: Module, method: str) -> dict[str, Any]:
        found: dict[str, Any] = self.call("graph_of", phase="inspect", module=module.number, method=method)
        return found

    def work_of(self, module: Module, method: str) -> dict[str, int]:
        """How often each operator computes that no optimisation of PyTorch's folds away."""
        found: dict[str, int] = self.call("work_of", phase="inspect", module=module.number, method=method)
        return found

    def children_of(self, module: Module) -> dict[str, str]:
        found: dict[str, str] = self.call("children_of", phase="inspect", module=module.number)
        return found

    def process_state(self) -> dict[str, Any]:
        """Everything about the process that a backend must leave as it is."""
        found: dict[str, Any] = self.call("process_state", phase="inspect")
        return found

    def identity(self) -> dict[str, Any]:
        """The process's id and the folders that it works with."""
        found: dict[str, Any] = self.call("identity", phase="inspect")
        return found

    # Asking the backend itself.

    def given_spec(self, module: Module) -> dict[str, Any]:
        spec: dict[str, Any] = decode(self.call("given_spec", phase="probe", module=module.number))
        return spec

    def read_spec(self, lowered: Module) -> dict[str, Any]:
        spec: dict[str, Any] = decode(self.call("read_spec", phase="probe", lowered=lowered.number))
        return spec

    def received_spec(self, lowered: Module) -> dict[str, Any] | None:
        data = self.call("received_spec", phase="probe", lowered=lowered.number)
        return None if data is None else decode(data)

    def preprocess_count(self) -> int | None:
        count: int | None = self.call("preprocess_count", phase="probe")
        return count

    def claims(self, lowered: Module, count: int = 1) -> dict[str, Any]:
        found: dict[str, Any] = self.call("claims", phase="probe", lowered=lowered.number, count=count)
        return found

    def claims_directly(self) -> bool:
        claim: bool = self.call("claims_directly", phase="probe")
        return claim

    def measure(self, lowered: Module, call: Call) -> Ability:
        """What the backend can do here, whatever it claims."""
        found = self.call(
            "measure", phase="probe", lowered=lowered.number, method=call.method, inputs=encode(call.inputs)
        )
        return Ability(found["compile"], found["execute"])

    # Bundled inputs.

    def bundle(
        self,
        module: Module,
        inputs: dict[str, list[tuple[Any, ...]]],
        info: list[str] | None = None,
        inflate: str = "none",
    ) -> None:
        samples = {method: [encode(sample) for sample in each] for method, each in inputs.items()}
        self.call("bundle", module=module.number, inputs=samples, info=info, inflate=inflate)

    def bundle_by_cloning(self, module: Module, inputs: list[tuple[Any, ...]]) -> Module:
        samples = [encode(sample) for sample in inputs]
        return self._made("bundle_by_cloning", phase="bundle", module=module.number, inputs=samples)

    def read_bundle(self, module: Module, methods: list[str]) -> dict[str, Any]:
        """What every function for reading bundled inputs says, decoded."""
        read = self.call("read_bundle", phase="bundle", module=module.number, methods=methods)
        found = {"functions_and_info": decode(read["functions_and_info"])}
        found["for"] = {method: decode(data) for method, data in read["for"].items()}
        if "all" in read:
            found |= {"all": decode(read["all"]), "count": read["count"]}
        return found

    def has_bundle(self, module: Module) -> bool:
        answer: bool = self.call("has_bundle", phase="bundle", module=module.number)
        return answer

    def add_attribute(self, module: Module, name: str, value: Any) -> None:
        """Give a lowered module an attribute, and a method ``get_<name>`` that returns it."""
        self.call("add_attribute", phase="script", module=module.number, name=name, value=encode(value))

    def _made(self, verb: str, phase: str | None = None, **arguments: Any) -> Module:
        number = self.call(verb, phase=phase, **arguments)
        assert self.last_reply is not None
        return Module(number, "\n".join((*self.last_reply.warnings, self.last_reply.stderr)))


@dataclasses.dataclass(frozen=True, slots=True)
class Ability:
    """What was measured of compile and execute: None where it worked, the error's text where not."""

    compile_error: str | None
    execute_error: str | None

    @property
    def state(self) -> str:
        """As availability states are written: compile/execute, "yes" or "no" each."""
        return "/".join("yes" if error is None else "no" for error in (self.compile_error, self.execute_error))


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """Something that is done within a guard: an artifact is loaded (the module of the steps that follow), or a call is
    made, which succeeds or not."""

    artifact: Artifact | None = None
    call: tuple[str, tuple[Any, ...]] | None = None

    def as_message(self) -> dict[str, Any]:
        if self.artifact is not None:
            return {"artifact": self.artifact.data, "runtime": self.artifact.runtime}
        assert self.call is not None
        return {"method": self.call[0], "inputs": encode(self.call[1])}


@dataclasses.dataclass(frozen=True, slots=True)
class Threads:
    """What several threads at once came to.

    ``results`` has the different results of each call; ``modes`` the different modes that a fresh thread had before its
    work and after it; ``errors`` what was raised, each text once.
    """

    results: list[list[Any]]
    modes: list[dict[str, bool]]
    errors: list[str]


def _threads(found: dict[str, Any]) -> Threads:
    return Threads(
        [[decode(each) for each in results] for results in found["results"]], found["modes"], found["errors"]
    )
