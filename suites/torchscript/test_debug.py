"""Errors and debug information: what a user learns when a lowered module fails, and that the process goes on."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from conformance import features
from conformance.api.assertions import Refusal, assert_names, check, refused
from conformance.api.errors import SubjectError
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.toolchains.torchscript.assertions import NOT_AVAILABLE
from conformance.toolchains.torchscript.client import Artifact, PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.damage.archive import debug_handles, underlined_lines
from conformance.toolchains.torchscript.damage.processed import damaged_programs
from conformance.toolchains.torchscript.promises import DEBUG, INTERFACE, READY, REFUSED, SAME_MODULE, THROWN

BOTH = ("full", "lite")
LITE = ("lite",)
#: For each case: the position of an argument that does not fit → where the error must point to, by the end of the
#: hierarchy of modules and the source text.
PLACES = {
    "two_branches": {
        1: ("left(_Adder)::forward.aten::add", "x + y"),
        2: ("right(_Subtractor)::forward.aten::sub", "x + x - y"),
        3: ("again(_Adder)::forward.aten::add", "x + y"),
    },
    # PyTorch alone names no method here on the lite interpreter
    "blocks": {1: ("aten::add", "x + in_branch"), 2: ("aten::sub", "x - in_loop")},
    "behind_lists": {
        1: ("left(_Adder)::forward.aten::add", "x + y"),
        2: ("right(_Subtractor)::forward.aten::sub", "x + x - y"),
    },
}

clause = clauses(source=DEBUG, level=Level.COMPLETE)


def misfit(case: PreparedCase, position: int) -> tuple[Any, ...]:
    """The inputs of the case's first call, with one at ``position`` that does not fit the others: of another size, or
    with indices out of range."""
    inputs = list(case.call.inputs)
    whole = not inputs[position].is_floating_point()
    inputs[position] = inputs[position] + 100 if whole else torch.ones(2, 5)
    return tuple(inputs)


@contextlib.contextmanager
def failing(what: str) -> Iterator[Refusal]:
    """A block in which a run must fail, but not by the error for a backend that is not available."""
    with refused(what) as refusal:
        yield refusal
    check(NOT_AVAILABLE not in refusal.text, f"{what}: the backend is available, and the error says that it is not")


@clause(
    "debug.handles",
    cases=("add", "two_branches", "linear", "conv_net", "control_flow"),
    runtimes=LITE,
    needs=(features.debug_handles,),
)
def test_handles(host: TorchScriptDevice, case: PreparedCase) -> None:
    """The debug handles that preprocess asked for are unique, and map every operator of the model that computes."""
    original = host.script(case)
    wanted = Counter(host.work_of(original, case.methods[0]))
    found = debug_handles(host.save(host.lower(original)).data)
    repeated = [handle for handle, count in Counter(handle for handle, _ in found).items() if count > 1]
    check(not repeated, f"{case.name}: these debug handles stand for several nodes: {repeated}")
    lacking = wanted - Counter(kind for _, kind in found)
    check(not lacking, f"{case.name}: no debug handle maps {dict(lacking)}")


@clause("debug.runtime-error", cases=("two_branches", "blocks"), runtimes=LITE, needs=(features.debug_handles,))
def test_runtime_error(
    host: TorchScriptDevice,
    target: TorchScriptDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """An error that is thrown in execute shows, in the lite interpreter, the hierarchy of the modules and the source
    line of the operator that failed."""
    for each in (case, *(other_cases("behind_lists") if case.name == "two_branches" else ())):
        loaded = target.load(host.save(host.lower(each)))
        for position, (place, source) in PLACES[each.name].items():
            with refused(f"{each.name} with a misfit for {place}, lite") as refusal:
                target.run(loaded, "forward", misfit(each, position))
            assert_names(refusal, place)
            lines = underlined_lines(refusal.text)
            check(any(source in line for line in lines), f"expected {source!r} to be underlined, found {lines}")


@clause("debug.message", source=(THROWN, DEBUG), cases=("two_branches", "add"))
def test_message(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """What execute threw arrives with its text where the module was lowered and where it is loaded, by the full JIT
    and by the lite interpreter."""
    lowered = host.lower(case)
    modules = [(host, lowered), *((target, target.load(host.save(lowered, runtime=runtime))) for runtime in BOTH)]
    with failing(f"{case.name} with a misfit") as refusal:
        modules[-1][0].run(modules[-1][1], "forward", misfit(case, 1))
    said = refusal.text.strip().splitlines()[0].strip()
    for device, module in modules:
        with failing(f"{case.name} with a misfit") as refusal:
            device.run(module, "forward", misfit(case, 1))
        assert_names(refusal, said)


@clause(
    "debug.raises", source=(THROWN, SAME_MODULE), cases=("add", "two_branches", "two_methods", "lookup"), runtimes=BOTH
)
def test_raises(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """An exception in execute surfaces at that run; later runs, of this module and of others, are right."""
    artifact = host.save(host.lower(case))
    modules = [target.load(artifact) for _ in range(2)]
    for position in (1, 0, 1):
        with failing(f"{case.name} with a misfit"):
            target.run(modules[0], case.call.method, misfit(case, position))
        for module in (*modules, target.load(artifact)):
            for call in case.calls:
                assert_close(target.run_call(module, call)[0], call.expected, f"{case.name} after a run that failed")


@clause("debug.raises-at-load", source=READY, cases=("add", "linear"), runtimes=BOTH, control=Control.NONE)
def test_raises_at_load(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """An exception in compile surfaces when the artifact is loaded; modules that are loaded before and after it, and
    those already there, are right."""
    artifact = host.save(host.lower(case))
    before = target.load(artifact)
    raised = 0
    for _, data in damaged_programs(artifact.data, seed=case.seed, count=8):
        try:
            target.load(Artifact(data, artifact.runtime))
        except SubjectError:
            raised += 1
        for module in (before, target.load(artifact)):
            assert_close(target.run_call(module, case.call)[0], case.call.expected, f"{case.name} after a failed load")
    if not raised:
        raise NotApplicable("compile raised for none of the damaged processed modules")


@clause("debug.raises-at-lowering", source=(INTERFACE, REFUSED), cases=("add", "two_methods"), control=Control.NONE)
def test_raises_at_lowering(host: TorchScriptDevice, case: PreparedCase) -> None:
    """An exception in preprocess surfaces when the module is lowered; modules that were lowered before it, and those
    that are lowered after it, are right."""
    before = host.lower(case)
    for _ in range(2):
        with refused("lowering with a spec that names no method"):
            host.lower_badly(host.script(case), "unknown method")
        for module in (before, host.lower(case)):
            result = host.run_call(module, case.call)[0]
            assert_close(result, case.call.expected, f"{case.name} after a lowering that failed")
