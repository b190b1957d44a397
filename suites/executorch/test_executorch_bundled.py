"""Bundled programs: a program that carries inputs and what is expected of them, for the target to try itself."""

from __future__ import annotations

import dataclasses

from conformance.api.assertions import refused
from conformance.api.availability import Availability
from conformance.compare.assertions import assert_close
from conformance.contract import Level, clauses
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import BUNDLED, SPLIT

NONE, FULL = Availability.NONE, Availability.FULL
REPRESENTATIVE = ("add_sub", "linear", "conv_net", "two_methods")

clause = clauses(source=BUNDLED, level=Level.MOBILE)


@clause("bundle.verifies", cases=REPRESENTATIVE)
def test_verifies(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A bundled program of a lowered model passes the runtime's own verification on the target, for every method and
    each of its inputs, and once more in the other order."""
    bundled = host.bundle(host.lower(case), case.calls)
    for method in case.methods:
        count = len(case.calls_of(method))
        for index in (*range(count), *reversed(range(count))):
            target.verify(bundled, method, index)


@clause("bundle.detects", cases=("add_sub", "linear", "conv_net"))
def test_detects(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Where one expected value is wrong verification fails for it, and for no other: on this delegate the check can
    fail."""
    right, wrong = case.calls[:2]
    spoilt = [each.clone() for each in wrong.expected]
    spoilt[0].flatten()[0] += 1e-2
    bundled = host.bundle(host.lower(case), [right, dataclasses.replace(wrong, expected=spoilt)])
    target.verify(bundled, "forward", 0)
    with refused(f"{case.name}: verification against a value that is off by a hundredth"):
        target.verify(bundled, "forward", 1)


@clause("bundle.runs", cases=REPRESENTATIVE)
def test_runs(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """The program in a bundle, loaded from where it lies in it, computes what it does alone, also after the bundle was
    verified."""
    bundled = host.bundle(host.lower(case), case.calls)
    for call in case.calls:
        assert_close(target.run_bundled(bundled, call), call.expected, f"{case.name}.{call.method}, from a bundle")
        target.verify(bundled, call.method, 0)


@clause("bundle.unavailable", source=(BUNDLED, SPLIT), cases=("add_sub", "linear"), hosts=(NONE,), targets=(FULL,))
def test_unavailable(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program is bundled on a host where the delegate is not available, and verified where it is."""
    bundled = host.bundle(host.lower(case), case.calls)
    for index in range(len(case.calls)):
        target.verify(bundled, "forward", index)
