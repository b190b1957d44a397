"""Inference mode and threads: what the runtimes of phones do around a model, whose guards are thread-local."""

from __future__ import annotations

import itertools

import torch

from conformance.api.assertions import check, refused
from conformance.compare.assertions import assert_close, assert_equal, assert_requires_no_grad
from conformance.contract import Level, clauses
from conformance.toolchains.torchscript.client import PreparedCase, Step, TorchScriptDevice
from conformance.toolchains.torchscript.promises import GUARDED, MOBILE_MODELS, NO_GRAD, SAME_MODULE, THREADS

#: With parameters, without any, and with weights whose packing runs operators while the module is loaded.
MODELS = ("add", "linear", "conv_net", "quantized_linear")
GUARDS = ("none", "no_grad", "inference_mode")
#: Autograd refuses weights that were made in inference mode, so plain PyTorch cannot take them out of it.
PAIRS = [pair for pair in itertools.product(GUARDS, GUARDS) if pair != ("inference_mode", "none")]

clause = clauses(source=(NO_GRAD, GUARDED), level=Level.COMPLETE, runtimes=("full", "lite"))


@clause("inference.guards", source=(NO_GRAD, GUARDED, MOBILE_MODELS), cases=MODELS)
def test_guards(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Loading and running each work with and without a guard (no_grad, inference_mode), in every pair of the two."""
    artifact = host.save(host.lower(case))
    for loading, running in PAIRS:
        loaded = target.load_under(loading, artifact)
        for call in case.calls:
            result = target.run_under(running, loaded, call.method, call.inputs)
            assert_close(result, call.expected, f"{case.name}, loaded under {loading} and run under {running}")


@clause("inference.taken-out", source=GUARDED, cases=("add", "quantized_linear"))
def test_taken_out(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """A module that was loaded in inference mode runs outside of it, if its weights have no gradients."""
    loaded = target.load_under("inference_mode", host.save(host.lower(case)))
    for call in case.calls:
        result = target.run_under("none", loaded, call.method, call.inputs)
        assert_close(result, call.expected, f"{case.name}, loaded in inference mode and run outside of it")


@clause("inference.lowering", cases=MODELS, runtimes=("full",))
def test_lowered(host: TorchScriptDevice, case: PreparedCase) -> None:
    """A module that was just lowered runs under the guards too."""
    for guard in GUARDS:
        result = host.run_under(guard, host.lower(case), case.call.method, case.call.inputs)
        assert_close(result, case.call.expected, f"{case.name}, lowered and run under {guard}")


@clause("inference.no-grad-leak", cases=("add", "linear", "quantized_linear"))
def test_no_grad_leak(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """After load, run and a run that fails, the thread's grad mode and inference mode are what they were, under each
    guard and without one."""
    artifact = host.save(host.lower(case))
    bad = tuple(torch.ones(2, 3 + 2 * index) for index in range(len(case.call.inputs)))
    steps = [Step(artifact), Step(call=(case.call.method, case.call.inputs)), Step(call=(case.call.method, bad))]
    outside = target.modes()
    for guard in GUARDS:
        first, *later = target.modes_under(guard, steps)
        for what, modes in zip(("loading", "running", "a run that failed"), later, strict=True):
            assert_equal(modes, first, f"{case.name}: the modes of the thread under {guard} after {what}")
        assert_equal(target.modes(), outside, f"{case.name}: the modes of the thread after the guard {guard}")
    with refused(f"{case.name} on inputs of shapes that do not fit"):
        target.run(target.load(artifact), case.call.method, bad)


@clause("inference.requires-no-grad", cases=("add", "linear", "conv_net"))
def test_requires_no_grad(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Under a guard no output requires grad, and neither parameters nor inputs that require it do any harm."""
    artifact = host.save(host.lower(case))
    for guard in GUARDS:
        loaded = target.load(artifact)
        for call in case.calls:
            where = f"{case.name} under {guard}, for inputs that require grad"
            result = target.run_under(guard, loaded, call.method, call.inputs, differentiable=True)
            assert_close(result, call.expected, where)
            if guard != "none":
                assert_requires_no_grad(result, where)


@clause(
    "inference.inputs-untouched",
    source=(NO_GRAD, GUARDED, SAME_MODULE),
    cases=("add", "several_outputs", "non_contiguous", "linear"),
    runtimes=("full",),
)
def test_inputs_are_untouched(host: TorchScriptDevice, case: PreparedCase) -> None:
    """Under a guard too running mutates no input; outputs share memory with no input and no earlier output, and keep
    their values."""
    lowered = host.lower(case)
    for guard in GUARDS[1:]:
        for call in case.calls:
            for what, found in host.run_watched_under(guard, lowered, call, list(case.calls)).items():
                check(not found, f"{case.name}.{call.method} under {guard}: {what.replace('_', ' ')}: {found}")


@clause("inference.threads", source=THREADS, cases=("add", "two_methods", "linear", "lstm", "quantized_linear"))
def test_threads(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Run from a fresh thread, and from several at once, on one module and on several: the same outputs each time."""
    artifact = host.save(host.lower(case))
    modules = [target.load(artifact) for _ in range(3)]
    calls = list(case.calls)
    for threads, held in ((1, modules[:1]), (4, modules[:1]), (4, modules)):
        found = target.run_in_threads(held, calls, threads=threads)
        where = f"{case.name}, {threads} threads at once on {len(held)} modules"
        check(not found.errors, f"{where}: {found.errors}")
        for call, results in zip(calls, found.results, strict=True):
            for result in results:
                assert_close(result, call.expected, where)


@clause("inference.thread-local", source=(NO_GRAD, GUARDED, THREADS), cases=("add", "linear"))
def test_thread_local(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """The guards are thread-local: a module that is used in several threads while one stands under a guard changes the
    modes of none of them."""
    loaded = target.load_under("inference_mode", host.save(host.lower(case)))
    outside = target.modes()
    for guard in GUARDS:
        found = target.run_in_threads([loaded], list(case.calls)[:1], threads=3, rounds=2, guard=guard)
        fresh = [{"grad mode": True, "inference mode": False}]
        assert_equal(found.modes, fresh, f"{case.name}: the modes of fresh threads, started under {guard}")
        check(not found.errors, f"{case.name}, in threads that were started under {guard}: {found.errors}")
        for result in found.results[0]:
            assert_close(result, case.call.expected, f"{case.name}, in a thread that was started under {guard}")
        assert_equal(target.modes(), outside, f"{case.name}: the modes of the thread that started them")


@clause("inference.loading-threads", source=(THREADS, SAME_MODULE), cases=("add", "linear", "quantized_linear"))
def test_loading_threads(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Several threads that load an artifact at once each get a module that computes what is right."""
    found = target.load_in_threads(host.save(host.lower(case)), case.call)
    check(not found.errors, f"{case.name}, loaded by four threads at once: {found.errors}")
    for result in found.results[0]:
        assert_close(result, case.call.expected, f"{case.name}, loaded by four threads at once")


@clause("inference.mobilenet", source=MOBILE_MODELS, cases=("mobilenet_v2", "mobilenet_v2_int8"))
def test_mobilenet(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """MobileNetV2, fp32 and int8, loads and runs, with and without the guards."""
    artifact = host.save(host.lower(case))
    for loading, running in (("none", "no_grad"), ("inference_mode", "inference_mode"), ("none", "none")):
        loaded = target.load_under(loading, artifact)
        for call in case.calls:
            result = target.run_under(running, loaded, call.method, call.inputs)
            assert_close(result, call.expected, f"{case.name}, loaded under {loading} and run under {running}")
