"""Saboteurs of torch.compile: what is done when, what is remembered, how it fails and how it ends."""

from __future__ import annotations

import atexit
import operator
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import torch

from conformance import Features, features
from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.dynamo_control import RUNS_IN_PYTORCH, Code, DynamoControl, tensors
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("compile.at-lowering-time")
class DynamoLowersLate(DynamoControl):
    """AOT Autograd runs at the first call, where nobody installs the guards that it makes."""

    name = "dynamo_lowers_late"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        from torch._dynamo.backends.debugging import aot_eager

        made: list[Code] = []

        def code(*arguments: Any) -> Any:
            if not made:
                made.append(aot_eager(graph, list(arguments)))
            return made[0](*arguments)

        return code


@saboteur("compile.at-lowering-time")
class DynamoTracesAtEachCall(DynamoControl):
    """The graph is traced again at each call."""

    name = "dynamo_traces_at_each_call"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        from torch.fx.experimental.proxy_tensor import make_fx

        return make_fx(code)(*arguments)(*arguments)


class AtFirstCall(DynamoControl):
    """Something is done when code is called for the first time."""

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        called: list[bool] = []

        def code(*arguments: Any) -> Any:
            if not called:
                called.append(True)
                self.at_first_call()
            return self.call(graph.forward, arguments)

        return code

    def at_first_call(self) -> None:
        raise NotImplementedError


@saboteur("compile.first-call")
class DynamoCompilesInPython(AtFirstCall):
    """The first call goes through the passes of a compiler written in Python."""

    name = "dynamo_compiles_in_python"

    def at_first_call(self) -> None:
        for number in range(20_000):
            _pass_over(number)


def _pass_over(number: int) -> int:
    return number


@saboteur("compile.first-call", verdicts=(REPORTED,))
class DynamoCompilesNatively(AtFirstCall):
    """The first call spends a twentieth of a second in native code."""

    name = "dynamo_compiles_natively"

    def at_first_call(self) -> None:
        sum(range(4_000_000))


@saboteur("compile.once", phases=("run", "inspect"))
class DynamoForgetsItsWork(DynamoControl):
    """Each call makes Dynamo forget what was compiled."""

    name = "dynamo_forgets_its_work"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        torch._dynamo.reset()
        return super().call(code, arguments)


@saboteur("compile.parameters")
class DynamoBakesParameters(DynamoControl):
    """Parameters are those of the time of lowering."""

    name = "dynamo_bakes_parameters"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        baked = {
            index: each.detach().clone()
            for index, each in enumerate(example_inputs)
            if isinstance(each, torch.nn.Parameter)
        }
        return lambda *arguments: graph.forward(*(baked.get(index, each) for index, each in enumerate(arguments)))


@saboteur("compile.parameters")
class DynamoPacksByVersion(DynamoControl):
    """For inference a parameter is packed once, and again where its version says that it was written to."""

    name = "dynamo_packs_by_version"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        packs: dict[tuple[int, int], torch.Tensor] = {}

        def packed(argument: Any) -> Any:
            if torch.is_grad_enabled() or not isinstance(argument, torch.nn.Parameter):
                return argument
            return packs.setdefault((argument.data_ptr(), argument._version), argument.detach().clone())

        return lambda *arguments: graph.forward(*map(packed, arguments))


@saboteur("compile.original-untouched")
class DynamoRoundsWeights(DynamoControl):
    """Lowering rounds the weights of the user's module to bfloat16."""

    name = "dynamo_rounds_weights"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for each in example_inputs:
            if isinstance(each, torch.nn.Parameter):
                each.data.copy_(each.data.bfloat16())
        return super().lower(graph, example_inputs)


@saboteur("compile.twice")
class DynamoSharesWeights(DynamoControl):
    """Graphs of the same text share their code, and with it the weights of the first."""

    name = "dynamo_shares_weights"

    def __init__(self) -> None:
        self.known: dict[str, list[Any]] = {}

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        first = self.known.setdefault(graph.code, list(example_inputs))

        def code(*arguments: Any) -> Any:
            mixed = [
                old if isinstance(old, torch.nn.Parameter) else new for old, new in zip(first, arguments, strict=True)
            ]
            return graph.forward(*mixed)

        return code


@saboteur("compile.non-leaf-inputs", phases=("lower",))
class DynamoRefusesNonLeaves(DynamoControl):
    """Inputs that are results of a computation which wants gradients are refused."""

    name = "dynamo_refuses_non_leaves"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if not all(each.is_leaf for each in tensors(example_inputs)):
            raise RuntimeError("only leaves are supported")
        return super().lower(graph, example_inputs)


@saboteur("compile.outputs", phases=("inspect",))
class DynamoGivesUpQuietly(DynamoControl):
    """What it does not like it lets PyTorch run, and nobody hears of it."""

    name = "dynamo_gives_up_quietly"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        raise torch._dynamo.exc.SkipFrame("not worth it")


@saboteur("compile.outputs", phases=("inspect",))
class DynamoGivesUpHalfway(DynamoControl):
    """Of a model that Dynamo breaks in two it takes the first graph, and lets PyTorch run the second."""

    name = "dynamo_gives_up_halfway"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        first = next(node for node in graph.graph.nodes if node.op == "call_function")
        if first.target is operator.sub and first.args[1] == 1:  # as the second of graph_break begins
            raise torch._dynamo.exc.SkipFrame("not worth it")
        return super().lower(graph, example_inputs)


@saboteur("compile.delegated")
class DynamoFallsBack(DynamoControl):
    """It says that its own code computes, and lets PyTorch run each operator."""

    name = "dynamo_falls_back"
    features = Features.all()


class WithoutBFloat16(DynamoControl):
    """half_precision is declared missing."""

    features = RUNS_IN_PYTORCH.without(features.half_precision, "float32 alone")


@saboteur("compile.refusal", phases=("run",))
class DynamoDeclaresTooLittle(WithoutBFloat16):
    """What is declared missing works."""

    name = "dynamo_declares_too_little"


@saboteur("compile.refusal", phases=("lower",))
class DynamoRefusesRawly(WithoutBFloat16):
    """What is declared missing ends in an IndexError, which Dynamo passes on as it is: nobody knows whose it is."""

    name = "dynamo_refuses_rawly"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if any(each.dtype == torch.bfloat16 for each in tensors(example_inputs)):
            raise IndexError("list index out of range")
        return super().lower(graph, example_inputs)


@saboteur("compile.refusal", phases=("lower",))
class DynamoCannotRetry(WithoutBFloat16):
    """After one refusal nothing is lowered any more."""

    name = "dynamo_cannot_retry"
    refused = False

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        self.refused |= any(each.dtype == torch.bfloat16 for each in tensors(example_inputs))
        if self.refused:
            raise RuntimeError("bfloat16 is not supported")
        return super().lower(graph, example_inputs)


@saboteur("compile.outputs", "compile.fallback", verdicts=("CRASH",), phases=("lower",))
class DynamoCrashesLowering(DynamoControl):
    """Lowering ends the process with SIGABRT."""

    name = "dynamo_crashes_lowering"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        os.abort()


@saboteur("compile.outputs", verdicts=("TIMEOUT",))
class DynamoHangs(DynamoControl):
    """Compiled code never comes back."""

    name = "dynamo_hangs"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        while True:
            pass


@saboteur("compile.exit", verdicts=("CRASH",), phases=("exit",))
class DynamoExitsBadly(DynamoControl):
    """The process that compiled something ends with exit code 3."""

    name = "dynamo_exits_badly"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        atexit.register(os._exit, 3)
        return super().lower(graph, example_inputs)


@saboteur("compile.exit", verdicts=(REPORTED,))
class DynamoLeavesCompilerBehind(DynamoControl):
    """A process that was started to compile in is never ended."""

    name = "dynamo_leaves_compiler_behind"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        return super().lower(graph, example_inputs)


SABOTEURS = saboteur.all()
