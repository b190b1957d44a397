"""Saboteurs: delegates in C++ that keep the contract in a process with Python, and break it in one without."""

from __future__ import annotations

import os
from typing import ClassVar

from conformance import Environment, Features, TorchScriptBackend, features
from conformance.compiling import Compilation
from torch_conformance_saboteurs.build import DELEGATE_WITH_PYTHON, DELEGATES, build
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


class NativeControl(TorchScriptBackend):
    """The conforming delegate. A saboteur is a subclass with the name of another in the library."""

    name = "native_control"
    compilation: ClassVar[Compilation] = DELEGATES
    features = Features.all().without(features.mutable_state, "A lowered module has no state.")
    unavailable = Environment(SABOTEUR_COMPILE="0", SABOTEUR_EXECUTE="0")
    compile_only = Environment(SABOTEUR_EXECUTE="0")
    execute_only = Environment(SABOTEUR_COMPILE="0")
    lost = unavailable

    def prepare(self) -> Environment:
        """Compile the library if need be, and tell the devices where it is. Raises CompileError."""
        return Environment(SABOTEURS_DELEGATES=str(build(self.compilation)))

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The library, once it was prepared."""
        prepared = os.environ.get("SABOTEURS_DELEGATES")
        return (prepared,) if prepared else ()


@saboteur("native.same-outputs")
class WrongNumbers(NativeControl):
    """Without Python, every single result is one too large."""

    name = "native_wrong_numbers"


@saboteur("native.same-outputs", "native.threads", verdicts=("CRASH",))
class Crashes(NativeControl):
    """Without Python, running writes to address zero."""

    name = "native_crashes"


@saboteur("native.same-outputs", verdicts=("TIMEOUT",))
class Hangs(NativeControl):
    """Without Python, running does not come back."""

    name = "native_hangs"


@saboteur("native.threads")
class SharesInputs(NativeControl):
    """Without Python, threads that run one module at once mix up their inputs."""

    name = "native_shares_inputs"


@saboteur("native.unavailable", phases=("load",))
class AlwaysAvailable(NativeControl):
    """Without Python, it claims to be available where it is not."""

    name = "native_always_available"


@saboteur("native.error")
class ThrowsNumber(NativeControl):
    """Without Python, an error in execute is thrown on as a number, which no handler of exceptions expects."""

    name = "native_throws_number"


@saboteur("native.error")
class SaysUnavailable(NativeControl):
    """Without Python, an error in execute is passed off as the backend being unavailable."""

    name = "native_says_unavailable"


@saboteur("native.error", verdicts=("CRASH",))
class Aborts(NativeControl):
    """Without Python, an error in execute ends the process."""

    name = "native_aborts"


@saboteur("native.lowering")
class LowersOtherWeights(NativeControl):
    """Lowered without Python, a module has other weights."""

    name = "native_lowers_other_weights"


@saboteur("native.lowering", phases=("lower",))
class CannotLower(NativeControl):
    """Lowering needs Python."""

    name = "native_cannot_lower"


@saboteur("native.no-python", phases=("",))
class LinksPython(NativeControl):
    """The library is linked against libtorch_python, of which it uses nothing."""

    name = "native_links_python"
    compilation = DELEGATE_WITH_PYTHON


# Under the guards of inference, and in threads: what the other clauses find on a target without Python.


@saboteur("inference.guards", "inference.mobilenet", target="native")
class RefusesInferenceMode(NativeControl):
    """Without Python, a method cannot be run in inference mode."""

    name = "native_refuses_inference_mode"


@saboteur("inference.taken-out", target="native")
class KeepsInferenceTensors(NativeControl):
    """Without Python, what is made while a module is loaded in inference mode takes part in autograd later."""

    name = "native_keeps_inference_tensors"


@saboteur("inference.no-grad-leak", target="native")
class LeaksAfterFailure(NativeControl):
    """Without Python, gradients are turned off for a run, and on again only if it succeeds."""

    name = "native_leaks_after_failure"


@saboteur("inference.requires-no-grad", target="native")
class RecordsHistory(NativeControl):
    """Without Python, outputs have a history under no_grad if an input requires grad."""

    name = "native_records_history"


@saboteur("inference.threads", target="native")
class RunsWhereItWasLoaded(NativeControl):
    """Without Python, a method runs only in the thread that has loaded the module."""

    name = "native_runs_where_it_was_loaded"


@saboteur("inference.thread-local", target="native")
class CarriesModesToThreads(NativeControl):
    """Without Python, a thread that runs a method is left in the mode in which another has loaded the module."""

    name = "native_carries_modes_to_threads"


@saboteur("inference.loading-threads", phases=("load",), target="native")
class RefusesASecondLoad(NativeControl):
    """Without Python, of several modules that are loaded at once all but one are refused."""

    name = "native_refuses_a_second_load"


SABOTEURS = saboteur.all()
