"""Saboteurs of torch.compile: grad mode, autocast, threads, seeds, options are not what they are in eager PyTorch."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl, changed
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("modes.nothing-retained", verdicts=(REPORTED,))
class DynamoKeepsExampleInputs(DynamoControl):
    """The inputs that were there when a graph was lowered are kept with its code."""

    name = "dynamo_keeps_example_inputs"

    def __init__(self) -> None:
        self.kept: list[Sequence[Any]] = []

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        self.kept.append(list(example_inputs))
        return super().lower(graph, example_inputs)


@saboteur("modes.nothing-retained", verdicts=(REPORTED,))
class DynamoKeepsResults(DynamoControl):
    """The last result is kept until the next call."""

    name = "dynamo_keeps_results"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.last = super().call(code, arguments)
        return self.last


@saboteur("modes.nothing-retained")
class DynamoKeepsEveryInput(DynamoControl):
    """The inputs of every call are kept."""

    name = "dynamo_keeps_every_input"

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.kept += arguments
        return super().call(code, arguments)


@saboteur("modes.lowering-leaves-no-trace", verdicts=(REPORTED,))
class DynamoSetsItsVariable(DynamoControl):
    """Lowering sets an environment variable that is nobody's but its own."""

    name = "dynamo_sets_its_variable"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        os.environ["_DYNAMO_SETS_ITS_VARIABLE"] = "1"
        return super().lower(graph, example_inputs)


@saboteur("modes.no-grad")
class DynamoTurnsGradOn(DynamoControl):
    """Code runs with grad mode on, whatever its caller has."""

    name = "dynamo_turns_grad_on"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        with torch.inference_mode(False), torch.enable_grad():
            return super().call(code, arguments)


@saboteur("modes.no-grad-then-training")
class DynamoStaysInInference(DynamoControl):
    """A backend that was first called without gradients never gives any."""

    name = "dynamo_stays_in_inference"
    inference = False

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.inference |= not torch.is_grad_enabled()
        with torch.no_grad() if self.inference else contextlib.nullcontext():
            return super().call(code, arguments)


@saboteur("modes.autocast")
class DynamoIgnoresAutocast(DynamoControl):
    """Code runs without autocast."""

    name = "dynamo_ignores_autocast"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        with torch.autocast("cpu", enabled=False):
            return super().call(code, arguments)


@saboteur("modes.lowering-leaves-no-trace", phases=("lower",))
class DynamoLowersPrecision(DynamoControl):
    """Lowering lets the whole process multiply matrices with less precision."""

    name = "dynamo_lowers_precision"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        torch.set_float32_matmul_precision("medium")
        return super().lower(graph, example_inputs)


@saboteur("modes.lowering-leaves-no-trace", phases=("lower",))
class DynamoSetsEnvironment(DynamoControl):
    """Lowering sets an environment variable, which every later child process gets."""

    name = "dynamo_sets_environment"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        os.environ["OMP_WAIT_POLICY"] = "active"
        return super().lower(graph, example_inputs)


@saboteur("modes.running-leaves-no-trace")
class DynamoFlushesDenormals(DynamoControl):
    """Code that runs leaves its thread flushing denormals to zero."""

    name = "dynamo_flushes_denormals"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        torch.set_flush_denormal(True)
        return result


@saboteur("modes.running-leaves-no-trace")
class DynamoDrawsNumbers(DynamoControl):
    """Each call draws from PyTorch's generator, so that what its user draws next is another number."""

    name = "dynamo_draws_numbers"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        torch.rand(1)
        return super().call(code, arguments)


@saboteur("modes.errors-leave-no-trace")
class DynamoLeavesGradOff(DynamoControl):
    """Code runs with grad mode off, which is turned on again only where it comes to its end."""

    name = "dynamo_leaves_grad_off"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        result = super().call(code, arguments)
        torch.set_grad_enabled(before)
        return result


@saboteur("modes.threads", "modes.thread-local")
class DynamoBelongsToOneThread(DynamoControl):
    """Code can be called only by the thread that lowered it."""

    name = "dynamo_belongs_to_one_thread"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        owner = threading.get_ident()

        def code(*arguments: Any) -> Any:
            if threading.get_ident() != owner:
                raise RuntimeError("this program belongs to another thread")
            return graph.forward(*arguments)

        return code


@saboteur("modes.threads", verdicts=(REPORTED,))
class DynamoSharesItsInputs(DynamoControl):
    """Inputs wait for their call where those of every other thread wait."""

    name = "dynamo_shares_its_inputs"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.waiting = arguments
        threading.Event().wait(0.002)
        return super().call(code, self.waiting)


@saboteur("modes.threads", verdicts=(REPORTED,))
class DynamoReadsFromOnePlace(DynamoControl):
    """Inputs are put in one place, from which a call reads them at once; another thread can be in between."""

    name = "dynamo_reads_from_one_place"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.waiting = arguments
        return super().call(code, self.waiting)


@saboteur("modes.threads-lower", verdicts=(REPORTED,))
class DynamoLowersForOne(DynamoControl):
    """Only the main thread can lower."""

    name = "dynamo_lowers_for_one"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("the compiler runs in the main thread alone")
        return super().lower(graph, example_inputs)


@saboteur("modes.thread-local")
class DynamoTurnsGradOff(DynamoControl):
    """A thread that has called code is left with grad mode off."""

    name = "dynamo_turns_grad_off"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        torch.set_grad_enabled(False)
        return result


@saboteur("modes.after-threads", verdicts=(REPORTED,))
class DynamoGivesUpUnderLoad(DynamoControl):
    """Once two calls were made at one time, results are computed in a slower way."""

    name = "dynamo_gives_up_under_load"

    def __init__(self) -> None:
        self.busy = 0
        self.overtaxed = False

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.busy += 1
        self.overtaxed |= self.busy > 1
        threading.Event().wait(0.002)
        result = super().call(code, arguments)
        self.busy -= 1
        return self.taxed(result) if self.overtaxed else result

    def taxed(self, result: Any) -> Any:
        """The result once two calls were made at one time."""
        return changed(result, lambda tensor: tensor + 0)


@saboteur("modes.after-threads")
class DynamoStaysConfused(DynamoGivesUpUnderLoad):
    """Once two calls were made at one time, every result is wrong."""

    name = "dynamo_stays_confused"

    def taxed(self, result: Any) -> Any:
        return changed(result, lambda tensor: tensor + 1)


@saboteur("modes.repeatable")
class DynamoDrifts(DynamoControl):
    """Each call is off by a thousandth more than the one before."""

    name = "dynamo_drifts"
    calls = 0

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        drift = 1 + self.calls / 1000
        self.calls += 1
        return changed(super().call(code, arguments), lambda tensor: tensor * drift)


@saboteur("modes.repeatable", verdicts=(REPORTED,))
class DynamoVariesBits(DynamoControl):
    """Every other call is off by less than any tolerance."""

    name = "dynamo_varies_bits"
    calls = 0

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.calls += 1
        result = super().call(code, arguments)
        return changed(result, lambda tensor: tensor * (1 + 2**-23)) if self.calls % 2 else result


@saboteur("modes.unknown-options", verdicts=(REPORTED,))
class DynamoSwallowsOptions(DynamoControl):
    """Options that it does not know are ignored, and nobody hears of it."""

    name = "dynamo_swallows_options"

    def take(self, keywords: dict[str, Any]) -> None:
        pass


@saboteur("modes.unknown-options", verdicts=(REPORTED,))
class DynamoBlamesTheModel(DynamoControl):
    """A mode that it does not know is refused with an error about the model."""

    name = "dynamo_blames_the_model"

    def take(self, keywords: dict[str, Any]) -> None:
        if "mode" in keywords:
            raise RuntimeError("cannot convert model")
        super().take(keywords)


@saboteur("modes.unknown-options", verdicts=(REPORTED,))
class DynamoIgnoresSomethingElse(DynamoControl):
    """Options that it does not know are ignored, and what it warns of is another thing."""

    name = "dynamo_ignores_something_else"

    def take(self, keywords: dict[str, Any]) -> None:
        if keywords:
            warnings.warn("ignoring the names of tensors", stacklevel=2)


@saboteur("modes.options-apart", phases=("lower",))
class DynamoRemembersOptions(DynamoControl):
    """Options are added to those of every compile before."""

    name = "dynamo_remembers_options"

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def take(self, keywords: dict[str, Any]) -> None:
        self.known.update(keywords)
        super().take(self.known)


@saboteur("modes.options-apart")
class DynamoKeepsItsOptions(DynamoControl):
    """An option for less precision holds for every later compile."""

    name = "dynamo_keeps_its_options"
    options = {"precision": "reduced"}
    reduced = False

    def take(self, keywords: dict[str, Any]) -> None:
        if "options" in keywords:
            self.reduced |= keywords["options"].get("precision") == "reduced"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return changed(result, lambda tensor: tensor * (1 + 2**-23)) if self.reduced else result


@saboteur("modes.options-apart")
class DynamoTakesLatestOptions(DynamoControl):
    """An option for less precision holds for all code until the next compile, which may have another."""

    name = "dynamo_takes_latest_options"
    options = {"precision": "reduced"}
    reduced = False

    def take(self, keywords: dict[str, Any]) -> None:
        self.reduced = keywords.get("options", {}).get("precision") == "reduced"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return changed(result, lambda tensor: tensor * (1 + 2**-23)) if self.reduced else result


SABOTEURS = saboteur.all()
