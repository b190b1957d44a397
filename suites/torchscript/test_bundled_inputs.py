"""Bundled inputs: samples that travel with a lowered module (``torch.utils.bundled_inputs``)."""

from __future__ import annotations

from typing import Any

from conformance.api.assertions import check, refused
from conformance.api.availability import Availability
from conformance.api.errors import SubjectError
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close, assert_equal
from conformance.contract import Control, Level, clauses
from conformance.run.cell_context import CellContext
from conformance.toolchains.torchscript.assertions import assert_bundle
from conformance.toolchains.torchscript.client import PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.promises import ATTRIBUTES

clause = clauses(source=ATTRIBUTES, level=Level.MOBILE, runtimes=("full", "lite"))


def samples_of(case: PreparedCase) -> dict[str, list[tuple[Any, ...]]]:
    """The case's inputs by method, as they are bundled."""
    return {method: [call.inputs for call in case.calls_of(method)] for method in case.methods}


@clause(
    "bundled.after-lowering",
    cases=("add", "integers", "half_precision", "non_contiguous", "zero_dim", "nested_values", "scalars", "optionals"),
)
def test_bundled_after_lowering(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Inputs bundled to a lowered module survive saving and loading: number, values, order, dtypes and shapes, by each
    function that reads them."""
    lowered = host.lower(case)
    samples = samples_of(case)
    host.bundle(lowered, samples)
    assert_bundle(host, lowered, samples)
    assert_bundle(target, target.load(host.save(lowered)), samples)


@clause("bundled.runs", cases=("add", "two_methods", "conv_net", "integers"))
def test_bundled_inputs_run(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Each method runs on its bundled inputs after loading, with the outputs from before."""
    lowered = host.lower(case)
    host.bundle(lowered, samples_of(case))
    loaded = target.load(host.save(lowered))
    bundle = target.read_bundle(loaded, list(case.methods))
    for method in case.methods:
        assert_equal(len(bundle["for"][method]), len(case.calls_of(method)), f"the inputs bundled for {method}")
        for inputs, call in zip(bundle["for"][method], case.calls_of(method), strict=True):
            assert_equal(inputs, call.inputs, f"the inputs bundled for {method}")
            assert_close(target.run(loaded, method, inputs), call.expected, f"{case.name}.{method} on a bundled input")


@clause("bundled.methods", cases=("two_methods",))
def test_several_methods(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Each of several methods has inputs of its own; bundling to one leaves the others without."""
    lowered = host.lower(case)
    samples = samples_of(case)
    host.bundle(lowered, samples)
    assert_bundle(target, target.load(host.save(lowered)), samples)
    partly = host.lower(case)
    only = {"difference": samples["difference"]}
    host.bundle(partly, only)
    loaded = target.load(host.save(partly))
    assert_bundle(target, loaded, only)
    check(not target.has_bundle(loaded), "inputs bundled to one method appear for forward as well")


@clause("bundled.info", cases=("add", "two_methods"))
def test_info(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """The info strings of bundled inputs survive."""
    lowered = host.lower(case)
    info = ["measured at noon", "größe: 2 by 3"]
    host.bundle(lowered, samples_of(case), info=info)
    loaded = target.load(host.save(lowered))
    found = assert_bundle(target, loaded, samples_of(case))["functions_and_info"]
    for method in case.methods:
        assert_equal(found.get(method, {}).get("info"), info, f"the info of {method}")


@clause("bundled.inflatable")
def test_inflatable(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Inflatable arguments survive: zeros that are stored compactly, and values inflated by an expression."""
    import torch

    compact = host.lower(case)
    zeros = [(torch.zeros(64, 33), torch.ones(64, 33))]
    host.bundle(compact, {"forward": zeros})
    loaded = target.load(host.save(compact))
    assert_bundle(target, loaded, {"forward": zeros})
    assert_close(target.run(loaded, "forward", zeros[0]), zeros[0][0] + zeros[0][1], "running on compact zeros")

    expression = host.lower(case)
    samples = samples_of(case)
    host.bundle(expression, samples, inflate="expression")
    assert_bundle(target, target.load(host.save(expression)), samples)


@clause("bundled.unavailable", cases=("add", "two_methods"), hosts=(Availability.NONE,), control=Control.NONE)
def test_unavailable(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Inputs bundled to a module that was lowered on an unavailable host survive too, and run where it is available."""
    lowered = host.lower(case)
    samples = samples_of(case)
    host.bundle(lowered, samples)
    assert_bundle(host, lowered, samples)
    loaded = target.load(host.save(lowered))
    assert_bundle(target, loaded, samples)
    for call in case.calls:
        assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name} beside its bundled inputs")


@clause("bundled.before-lowering", runtimes=("full",), control=Control.NONE)
def test_bundled_before_lowering(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Inputs bundled before lowering are not in the compile spec, and so not in the lowered module: asking it for them
    is a clear error, and it computes the same."""
    original = host.script(case)
    host.bundle(original, samples_of(case))
    check(host.has_bundle(original), "bundling to the original did not work")
    loaded = target.load(host.save(host.lower(original)))
    check(not target.has_bundle(loaded), "the lowered module has methods that its compile spec does not name")
    with refused("asking for inputs that were bundled before lowering"):
        target.read_bundle(loaded, ["forward"])
    assert_close(target.run_call(loaded, case.call)[0], case.call.expected, case.name)


@clause("bundled.after-loading", cases=("add", "two_methods"))
def test_bundled_after_loading(
    host: TorchScriptDevice, target: TorchScriptDevice, context: CellContext, case: PreparedCase
) -> None:
    """Inputs can be bundled to a lowered module after it was loaded, and survive from there."""
    middle = context.device("host", context.cell.host)
    loaded = middle.load(host.save(host.lower(case), runtime="full"))
    samples = samples_of(case)
    middle.bundle(loaded, samples)
    again = target.load(middle.save(loaded))
    assert_bundle(target, again, samples)
    assert_close(target.run_call(again, case.call)[0], case.call.expected, case.name)


@clause("bundled.by-cloning", level=Level.REPORTED, runtimes=("full",), control=Control.NONE)
def test_bundled_by_cloning(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """bundle_inputs, which clones the module, works on a lowered module too (where PyTorch can clone one)."""
    lowered = host.lower(case)
    samples = samples_of(case)["forward"]
    try:
        clone = host.bundle_by_cloning(lowered, samples)
    except SubjectError as error:
        if "Cannot serialize custom bound C++ class" in error.text:
            raise NotApplicable(f"PyTorch itself cannot clone a lowered module: {error.text.strip()}") from None
        raise
    assert_bundle(target, target.load(host.save(clone)), {"forward": samples})
