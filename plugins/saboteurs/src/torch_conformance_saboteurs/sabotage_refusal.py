"""Saboteurs: what lies outside the declared features, and what is lost of inputs that are bundled."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.bundled_inputs
from torch import Tensor

from conformance import features
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.refusal import UnsupportedOperator
from torch_conformance_saboteurs.sabotage_tools import ChangedGraph, Listing, replaced, tensors_in

saboteur = Listing()

# Refusals. The control declares that it takes no mutable state, and no forks.


class RefusesOtherwise(PythonBackend):
    """A backend that overrides what happens where the control refuses an operator."""

    def check_supported(self, module: torch._C.ScriptModule, method: str) -> None:
        try:
            super().check_supported(module, method)
        except UnsupportedOperator as refusal:
            self.instead(str(refusal))

    def instead(self, text: str) -> None:
        """What it does instead of raising the refusal with that text. When it returns, the model is accepted."""


@saboteur("lowering.refusal")
class MiscomputesWhatItDoesNotTake(PythonControl):
    name = "miscomputes_what_it_does_not_take"

    class implementation(ChangedGraph, RefusesOtherwise):
        """Accepts methods that write attributes of their module, and leaves the writing out."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "prim::SetAttr":
                node.destroy()


@saboteur("lowering.refusal")
class RefusesOnlyAtARun(PythonControl):
    name = "refuses_only_at_a_run"

    class implementation(RefusesOtherwise):
        """Accepts at lowering what it does not take, and raises the refusal when it is run."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            operators = re.findall(r"prim::(?:fork|SetAttr)", str(handle.function.graph))
            if operators:
                raise RuntimeError(f"{operators[0]} is not supported by this backend. <--- HERE")
            return super().call(handle, inputs)


@saboteur("lowering.refusal", phases=("lower",))
class RefusesWithoutOperator(PythonControl):
    name = "refuses_without_operator"

    class implementation(RefusesOtherwise):
        """A refusal shows the line of the model, but does not name the operator."""

        def instead(self, text: str) -> None:
            raise RuntimeError(re.sub(r"\b(aten|prim)::\w+", "an operator", text))


@saboteur("lowering.refusal", phases=("lower",))
class RefusesAnInnocentOperator(PythonControl):
    name = "refuses_an_innocent_operator"

    class implementation(RefusesOtherwise):
        """A refusal names an operator of the model that the backend takes, not the one that it refuses."""

        def instead(self, text: str) -> None:
            raise RuntimeError(re.sub(r"\b(aten|prim)::\w+", "prim::Constant", text))


@saboteur("lowering.refusal", phases=("lower",))
class RefusesWithoutLine(PythonControl):
    name = "refuses_without_line"

    class implementation(RefusesOtherwise):
        """A refusal names the operator, but does not show the line of the model."""

        def instead(self, text: str) -> None:
            raise RuntimeError(text.partition("\n")[0])


@saboteur("lowering.refusal", phases=("lower",))
class RefusesAnotherLine(PythonControl):
    name = "refuses_another_line"

    class implementation(RefusesOtherwise):
        """A refusal names the operator, and shows a line of the backend's own in place of the model's."""

        def instead(self, text: str) -> None:
            raise RuntimeError(text.partition("\n")[0] + "\n    raise Unsupported(node)\n    ~~~~~ <--- HERE")


@saboteur("lowering.refusal", verdicts=("CRASH",), phases=("lower",))
class AbortsInsteadOfRefusing(PythonControl):
    name = "aborts_instead_of_refusing"

    class implementation(RefusesOtherwise):
        """Aborts where it meets an operator that it does not take."""

        def instead(self, text: str) -> None:
            os.abort()


@saboteur("lowering.outputs", "save-load.same-outputs", phases=("lower",))
class RefusesWhatItDeclares(PythonControl):
    name = "refuses_what_it_declares"

    class implementation(PythonBackend):
        """Refuses models with loops, which it does not declare missing."""

        def check_supported(self, module: torch._C.ScriptModule, method: str) -> None:
            super().check_supported(module, method)
            graph: Any = module._get_method(method).graph
            loop = graph.findNode("prim::Loop")
            if loop is not None:
                raise UnsupportedOperator(loop, "it takes no loops")


@saboteur("lowering.refusal")
class DeclaresTooLittle(PythonControl):
    """Declares loops missing, which work."""

    name = "declares_too_little"
    features = PythonControl.features.without(features.loops, "Loops are not supported.")


@saboteur("lowering.refusal")
class DeclaresTooLittleOfData(PythonControl):
    """Declares tensors without dimensions missing, which work."""

    name = "declares_too_little_of_data"
    features = PythonControl.features.without(features.zero_dim, "Tensors need a dimension.")


@saboteur("lowering.refusal")
class MiscomputesDataThatItDoesNotTake(PythonControl):
    name = "miscomputes_data_that_it_does_not_take"
    features = PythonControl.features.without(features.non_contiguous, "Inputs must be contiguous.")

    class implementation(PythonBackend):
        """Reads the memory of a strided input in its own order, instead of refusing the input as it declares."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return super().call(handle, replaced(inputs, Tensor, self.as_it_lies))

        def as_it_lies(self, tensor: Tensor) -> Tensor:
            if tensor.is_contiguous():
                return tensor
            flat = torch.as_strided(tensor, (tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
            return flat[torch.arange(tensor.numel()) % flat.numel()].view(tensor.shape)


@saboteur("lowering.refusal", verdicts=("CRASH",))
class CrashesOnDataThatItDoesNotTake(PythonControl):
    name = "crashes_on_data_that_it_does_not_take"
    features = PythonControl.features.without(features.complex_numbers, "There is no complex arithmetic.")

    class implementation(PythonBackend):
        """Aborts at a complex tensor, which it declares missing, instead of refusing it."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if any(tensor.is_complex() for tensor in tensors_in(inputs)):
                os.abort()
            return super().call(handle, inputs)


# Bundled inputs: what a package does that wraps the functions of PyTorch

_bundling: Any = torch.utils.bundled_inputs
_jit: Any = torch.jit
#: Method (as bundling takes it) → its samples.
Bundle = dict[Any, list[tuple[Any, ...]]]


def _with_arguments(inputs: Bundle, change: Callable[[Any], Any]) -> Bundle:
    return {method: [tuple(map(change, sample)) for sample in samples] for method, samples in inputs.items()}


class BundlesOtherwise(PythonControl):
    """A backend whose loading wraps PyTorch's function that bundles inputs to a module."""

    def load(self) -> None:
        super().load()
        bundle = _bundling.augment_many_model_functions_with_bundled_inputs

        def wrapped(model: Any, inputs: Bundle, *arguments: Any, **options: Any) -> None:
            changed = self.changed(model, inputs)
            if changed:
                bundle(model, changed, *arguments, **self.options(options))

        _bundling.augment_many_model_functions_with_bundled_inputs = wrapped

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        """What is bundled in place of ``inputs``; nothing when it is empty."""
        return inputs

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        """What is passed in place of the keyword arguments ``options``."""
        return options


@saboteur("bundled.after-lowering", phases=("bundle",), replaces_functions=True)
class LosesTheLastBundle(BundlesOtherwise):
    """Of the inputs bundled to a method the last is lost."""

    name = "loses_the_last_bundle"

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        return {method: samples[:-1] or samples for method, samples in inputs.items()}


@saboteur("bundled.after-lowering", "bundled.runs", phases=("bundle", "run"), replaces_functions=True)
class ReversesBundles(BundlesOtherwise):
    """Inputs bundled to a method come back in the opposite order."""

    name = "reverses_bundles"

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        return {method: samples[::-1] for method, samples in inputs.items()}


class _RecastsBundles(BundlesOtherwise):
    dtypes: tuple[torch.dtype, ...]

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        return _with_arguments(inputs, self.recast)

    def recast(self, argument: Any) -> Any:
        if isinstance(argument, _bundling.InflatableArg):
            return argument._replace(value=self.recast(argument.value))
        return argument.float() if isinstance(argument, Tensor) and argument.dtype in self.dtypes else argument


@saboteur("bundled.after-lowering", phases=("bundle",), replaces_functions=True)
class BundlesIntegersAsFloats(_RecastsBundles):
    """Integer inputs are bundled as float32."""

    name = "bundles_integers_as_floats"
    dtypes = (torch.int64, torch.int32)


@saboteur("bundled.after-lowering", phases=("bundle",), replaces_functions=True)
class BundlesHalvesAsFloats(_RecastsBundles):
    """Inputs of half precision are bundled as float32."""

    name = "bundles_halves_as_floats"
    dtypes = (torch.float16,)


@saboteur("bundled.unavailable", phases=("bundle",), replaces_functions=True)
class LosesBundlesWhileUnavailable(BundlesOtherwise):
    """Inputs bundled where the backend is not available are lost."""

    name = "loses_bundles_while_unavailable"

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        return inputs if self.implementation().is_available() else {}


@saboteur("bundled.after-loading", phases=("bundle",), replaces_functions=True)
class LosesBundlesOfLoadedModules(BundlesOtherwise):
    """Inputs bundled in a process that has lowered nothing are lost."""

    name = "loses_bundles_of_loaded_modules"

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        return inputs if self.preprocess_count() else {}


@saboteur("bundled.info", phases=("bundle",), replaces_functions=True)
class LosesBundleInfo(BundlesOtherwise):
    """The info strings of bundled inputs are lost."""

    name = "loses_bundle_info"

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "info": None}


@saboteur("bundled.inflatable", phases=("bundle",), replaces_functions=True)
class LeavesBundlesDeflated(BundlesOtherwise):
    """Inflatable arguments are bundled without the expression that inflates them."""

    name = "leaves_bundles_deflated"

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        return _with_arguments(inputs, lambda each: each.value if isinstance(each, _bundling.InflatableArg) else each)


@saboteur("bundled.inflatable", phases=("bundle",), replaces_functions=True)
class ShrinksCompactBundles(BundlesOtherwise):
    """Of a large constant tensor that is bundled only the first row is kept."""

    name = "shrinks_compact_bundles"

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        return _with_arguments(
            inputs, lambda each: each[:1] if isinstance(each, Tensor) and each.numel() > 1024 else each
        )


@saboteur("bundled.methods", phases=("bundle",), replaces_functions=True)
class BundlesToForwardToo(BundlesOtherwise):
    """Inputs bundled to another method alone are bundled to forward as well."""

    name = "bundles_to_forward_too"

    def changed(self, model: Any, inputs: Bundle) -> Bundle:
        (*_, samples) = inputs.values()
        forward = [sample[: len(model.forward.schema.arguments) - 1] for sample in samples]
        named = any(getattr(method, "__name__", getattr(method, "name", "")) == "forward" for method in inputs)
        return inputs if named else {**inputs, model.forward: forward}


@saboteur("bundled.before-lowering", phases=("bundle",))
class KeepsEarlierBundles(PythonControl):
    """Lowering bundles the inputs of the original to the lowered module again."""

    name = "keeps_earlier_bundles"

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        lowered = super().lower(module, method_compile_spec)
        if hasattr(module, "get_all_bundled_inputs"):
            _bundling.augment_model_with_bundled_inputs(lowered, module.get_all_bundled_inputs())
        return lowered


SABOTEURS = saboteur.all()
