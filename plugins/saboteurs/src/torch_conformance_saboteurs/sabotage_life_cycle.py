"""Saboteurs: preprocess, compile specs, weights and delegation; those about artifacts and copies are beside this."""

from __future__ import annotations

from typing import Any

import torch
from torch.jit._recursive import wrap_cpp_module

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs import bridge, sabotage_artifacts
from torch_conformance_saboteurs.archive import module_from_bytes, module_to_bytes
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing, replaced

saboteur = Listing()

Spec = dict[str, Any]
Module = torch.jit.ScriptModule

_first_of_type: dict[str, bytes] = {}
_originals: list[Any] = []
# PyTorch's type stubs lack it.
_core: Any = torch._C


# Preprocess


@saboteur("lowering.preprocess-once", phases=("probe",))
class PreprocessesTwice(PythonControl):
    """A module is lowered twice, and the first result is thrown away."""

    name = "preprocesses_twice"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        super().lower(module, method_compile_spec)
        return super().lower(module, method_compile_spec)


@saboteur("lowering.preprocess-once", phases=("probe",))
class PreprocessesWhereLoaded(PythonControl):
    """The program is lowered once more in the process where the module is loaded."""

    name = "preprocesses_where_loaded"

    class implementation(PythonBackend):
        def load_program(self, record: Record) -> torch._C.ScriptModule:
            name = PreprocessesWhereLoaded.name
            program = super().load_program(record)
            if not bridge.preprocess_count(name):
                _core._jit_to_backend(name, wrap_cpp_module(program), dict.fromkeys(record.debug_handles, ""))
            return program


@saboteur("lowering.twice", phases=("lower",))
class LowersOnlyOnce(PythonControl):
    name = "lowers_only_once"

    class implementation(PythonBackend):
        """A second lowering in a process fails."""

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: Spec) -> None:
            if bridge.preprocess_count(LowersOnlyOnce.name) > 1:
                raise RuntimeError("the compiler is in use")
            super().check_spec(module, method_compile_spec)


@saboteur("lowering.registered-once", phases=("register",))
class LoadsOnlyOnce(PythonControl):
    """Loading the backend a second time in a process fails."""

    name = "loads_only_once"

    def load(self) -> None:
        bridge.register(self.name, self.implementation)


@saboteur("lowering.unregistered", phases=("lower",), replaces_functions=True)
class AcceptsUnregisteredNames(PythonControl):
    """Loading the backend lets torch take a name that nobody has registered, and leave the module as it is."""

    name = "accepts_unregistered_names"

    def load(self) -> None:
        super().load()
        original = _core._jit_to_backend

        def to_backend(name: str, module: Any, method_compile_spec: Spec) -> Any:
            try:
                return original(name, module, method_compile_spec)
            except RuntimeError as error:
                if "not registered" in str(error):
                    return module
                raise

        _core._jit_to_backend = to_backend


# The method compile spec


@saboteur("lowering.spec-intact", phases=("probe",))
class IgnoresSpec(PythonControl):
    name = "ignores_spec"

    class implementation(PythonBackend):
        """Preprocess keeps a compile spec of its own."""

        def spec_bytes(self, method_compile_spec: Spec) -> bytes:
            return super().spec_bytes(dict.fromkeys(method_compile_spec, ""))


@saboteur("lowering.spec-intact", phases=("probe",))
class GivesFirstSpecToAll(PythonControl):
    name = "gives_first_spec_to_all"

    class implementation(PythonBackend):
        """The compile spec of the first method is taken for that of every other."""

        def spec_bytes(self, method_compile_spec: Spec) -> bytes:
            return super().spec_bytes(dict.fromkeys(method_compile_spec, next(iter(method_compile_spec.values()))))


@saboteur("lowering.spec-intact", phases=("probe",))
class CutsSpec(PythonControl):
    name = "cuts_spec"

    class implementation(PythonBackend):
        """Lists in the compile spec lose what comes after their second element."""

        def spec_bytes(self, method_compile_spec: Spec) -> bytes:
            return super().spec_bytes(replaced(method_compile_spec, list, lambda items: items[:2]))


@saboteur("lowering.spec-intact", phases=("probe",))
class SortsSpec(PythonControl):
    name = "sorts_spec"

    class implementation(PythonBackend):
        """Lists in the compile spec are sorted."""

        def spec_bytes(self, method_compile_spec: Spec) -> bytes:
            return super().spec_bytes(replaced(method_compile_spec, list, sorted))


@saboteur("lowering.spec-intact", "save-load.spec", phases=("probe",))
class AddsToSpec(PythonControl):
    """A value is added to the compile spec on its way into the lowered module."""

    name = "adds_to_spec"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        more = {key: {**value, "more": next(iter(value.values()))} for key, value in method_compile_spec.items()}
        return super().lower(module, more)


@saboteur("save-load.spec", phases=("probe",))
class SpecStaysOnTheHost(PythonControl):
    name = "spec_stays_on_the_host"
    specs: dict[Any, Spec] = {}

    class implementation(PythonBackend):
        """The compile spec that preprocess was given is kept in the process, and not in the artifact."""

        def spec_bytes(self, method_compile_spec: Spec) -> bytes:
            number = len(SpecStaysOnTheHost.specs)
            SpecStaysOnTheHost.specs[number] = method_compile_spec
            return super().spec_bytes(dict.fromkeys(method_compile_spec, number))

        def received_spec(self, processed: Any) -> Spec:
            kept = super().received_spec(processed)
            return SpecStaysOnTheHost.specs.get(next(iter(kept.values())), kept)


@saboteur("lowering.bad-spec", phases=("lower",))
class AcceptsUnknownMethod(PythonControl):
    """A key of the compile spec that is no method is left out without a word."""

    name = "accepts_unknown_method"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        unknown = [key for key in method_compile_spec if isinstance(key, str) and not hasattr(module, key)]
        known = {key: value for key, value in method_compile_spec.items() if key not in unknown}
        return super().lower(module, known)


@saboteur("lowering.bad-spec", verdicts=(REPORTED,))
class AcceptsEmptySpec(PythonControl):
    name = "accepts_empty_spec"

    class implementation(PythonBackend):
        """An empty compile spec gives a module without methods."""

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: Spec) -> None:
            if method_compile_spec:
                super().check_spec(module, method_compile_spec)


@saboteur("lowering.bad-spec", phases=("lower",))
class AcceptsAnyKey(PythonControl):
    """A key of the compile spec that is no string is left out, and forward is lowered."""

    name = "accepts_any_key"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        keys = {key if isinstance(key, str) else "forward": value for key, value in method_compile_spec.items()}
        return super().lower(module, keys)


@saboteur("lowering.bad-spec", verdicts=(REPORTED,))
class ScriptsByItself(PythonControl):
    """A module that is not scripted is scripted on the way."""

    name = "scripts_by_itself"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        return super().lower(torch.jit.script(module), method_compile_spec)


@saboteur("lowering.bad-spec", phases=("lower",))
class RefusesWithoutWords(PythonControl):
    name = "refuses_without_words"

    class implementation(PythonBackend):
        """A bad compile spec is refused with an error that says nothing."""

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: Spec) -> None:
            try:
                super().check_spec(module, method_compile_spec)
            except RuntimeError:
                raise RuntimeError(" ") from None


@saboteur("lowering.bad-spec", verdicts=(REPORTED,))
class NamesNoUnknownMethod(PythonControl):
    name = "names_no_unknown_method"

    class implementation(PythonBackend):
        """A key of the compile spec that is no method is refused with an error that does not name it."""

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: Spec) -> None:
            try:
                super().check_spec(module, method_compile_spec)
            except RuntimeError:
                raise RuntimeError("invalid argument") from None


# Weights


@saboteur("lowering.twice")
class SharesWeightsByType(PythonControl):
    name = "shares_weights_by_type"

    class implementation(PythonBackend):
        """Every module of a type gets the weights of the first that was lowered in the process."""

        def weights(self, module: torch._C.ScriptModule) -> torch._C.ScriptModule:
            name = sabotage_artifacts.type_name(module)
            return module_from_bytes(_first_of_type.setdefault(name, module_to_bytes(module)))


@saboteur("lowering.weights")
class ReadsWeightsLater(PythonControl):
    """Where the module was lowered, each run takes the weights that the original has by then."""

    name = "reads_weights_later"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        _originals.append(module)
        return super().lower(module, method_compile_spec)

    class implementation(PythonBackend):
        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            if _originals:
                pairs = zip(wrap_cpp_module(program).parameters(), _originals[-1].parameters(), strict=True)
                for mine, original in pairs:
                    mine.data = original.data
            return program


@saboteur("lowering.weights")
class ReadsBuffersLater(PythonControl):
    """Where the module was lowered, each run takes the buffers that the original has by then."""

    name = "reads_buffers_later"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        _originals.append(module)
        return super().lower(module, method_compile_spec)

    class implementation(PythonBackend):
        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            if _originals:
                pairs = zip(wrap_cpp_module(program).buffers(), _originals[-1].buffers(), strict=True)
                for mine, original in pairs:
                    mine.set_(original)
            return program


# What the lowered module is


@saboteur("lowering.methods", phases=("inspect",))
class ExposesEveryMethod(PythonControl):
    """Every method of the original is lowered, whether the compile spec names it or not."""

    name = "exposes_every_method"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        for value in list(method_compile_spec.values())[:1]:
            method_compile_spec = {**dict.fromkeys(module._c._method_names(), value), **method_compile_spec}
        return super().lower(module, method_compile_spec)


@saboteur("lowering.methods", phases=("inspect",))
class LosesLastMethod(PythonControl):
    """The last of several methods in the compile spec is not lowered."""

    name = "loses_last_method"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        methods = list(method_compile_spec)
        if len(methods) > 1 and hasattr(module, methods[-1]):
            method_compile_spec = {method: method_compile_spec[method] for method in methods[:-1]}
        return super().lower(module, method_compile_spec)


@saboteur("lowering.methods", phases=("inspect",))
class ExposesAttribute(PythonControl):
    """The lowered module has the parameters of the original among its attributes."""

    name = "exposes_attribute"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        lowered = super().lower(module, method_compile_spec)
        for name, parameter in module.named_parameters(recurse=False):
            lowered._c._register_attribute(name, torch._C.TensorType.get(), parameter.detach())
        return lowered


@saboteur("lowering.delegated", "save-load.unknown-backend", "lite.unknown-backend", phases=("inspect", "load"))
class DoesNotDelegate(PythonControl):
    """Lowering returns a copy of the original: nothing is delegated."""

    name = "does_not_delegate"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        super().lower(module, method_compile_spec)
        copied: Module = wrap_cpp_module(module_from_bytes(module_to_bytes(module._c)))
        return copied


@saboteur("composition.selective-lowers", phases=("inspect",))
class LeavesChildrenAlone(PythonControl):
    """A module of which there is a copy of another type name, as a child of another module has, is not lowered."""

    name = "leaves_children_alone"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        return module if sabotage_artifacts.is_mangled(module) else super().lower(module, method_compile_spec)


@saboteur("composition.selective", "composition.selective-lowers", phases=("lower",))
class FailsForChildren(PythonControl):
    """A module of which there is a copy of another type name, as a child of another module has, cannot be lowered."""

    name = "fails_for_children"

    def lower(self, module: Module, method_compile_spec: Spec) -> Module:
        if sabotage_artifacts.is_mangled(module):
            raise RuntimeError(f"the type {module._c._type().qualified_name()} has no definition")
        return super().lower(module, method_compile_spec)


SABOTEURS = (*saboteur.all(), *sabotage_artifacts.SABOTEURS)
