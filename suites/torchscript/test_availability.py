"""Availability: what a backend claims with ``is_available()``, what it can really do, and how PyTorch behaves by it."""

from __future__ import annotations

from conformance.api.assertions import assert_as_expected, check
from conformance.api.availability import Availability
from conformance.api.verdicts import NotExercised
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.torchscript.assertions import unavailable
from conformance.toolchains.torchscript.behaviour import (
    expected_on_host,
    expected_on_target,
    observe_host,
    observe_target,
    run_kind,
)
from conformance.toolchains.torchscript.client import PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.promises import AVAILABLE, STATE, UNAVAILABLE, WORDS

EVERY_STATE = tuple(Availability)
NONE, FULL = Availability.NONE, Availability.FULL
BOTH_RUNTIMES = ("full", "lite")

clause = clauses(source=AVAILABLE, level=Level.MOBILE, control=Control.NONE)


@clause("availability.host", source=(AVAILABLE, UNAVAILABLE, WORDS), runtimes=("full",), hosts=EVERY_STATE)
def test_host(host: TorchScriptDevice, case: PreparedCase, context: CellContext, record: Record) -> None:
    """On the host, lowering, its warning, running, and saving behave as the table of #53068 says for what the backend
    can do there; compile and execute are measured, and are what the state says."""
    record.expected = expected_on_host(context.cell.host)
    record.observed = observe_host(host, case)
    assert_as_expected(record.expected, record.observed)


@clause(
    "availability.target",
    source=(AVAILABLE, UNAVAILABLE, WORDS),
    runtimes=BOTH_RUNTIMES,
    hosts=EVERY_STATE,
    targets=EVERY_STATE,
)
def test_target(
    host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, context: CellContext, record: Record
) -> None:
    """An artifact from a host in any state loads and runs on a target in any state as the table of #53068 says, by the
    full JIT and by the lite interpreter."""
    assert context.cell.target is not None
    record.expected = expected_on_target(context.cell.host, context.cell.target)
    record.observed = observe_target(host, target, case)
    assert_as_expected(record.expected, record.observed)


@clause("availability.claim", hosts=EVERY_STATE)
def test_claim(host: TorchScriptDevice, case: PreparedCase) -> None:
    """is_available() is true exactly when compile and execute can both be called, and both were measured; a fresh
    object of the backend's class says the same as the one inside a lowered module."""
    lowered = host.lower(case)
    claim = host.claims(lowered)["answers"][0]
    check(host.claims_directly() == claim, f"the module's object says {claim}, a fresh one {not claim}")
    ability = host.measure(lowered, case.call)
    able = ability.state == FULL.value
    check(
        claim == able,
        f"is_available() is {claim}, but measured compile/execute is {ability.state} "
        f"(compile: {ability.compile_error or 'works'}; execute: {ability.execute_error or 'works'})",
    )


@clause("availability.fallback", level=Level.REPORTED, hosts=(Availability.COMPILE_ONLY, NONE))
def test_fallback(host: TorchScriptDevice, case: PreparedCase, context: CellContext, record: Record) -> None:
    """Whether a backend that cannot execute somewhere computes there all the same, by falling back to PyTorch: #53068
    leaves it open."""
    lowered = host.lower(case)
    called = run_kind(host, lowered, case.call)
    ability = host.measure(lowered, case.call)
    asked = "computes" if ability.execute_error is None else f"refuses ({ability.execute_error.strip():.100})"
    record.note(
        f"Where the backend is {context.cell.host.value} (compile/execute): a lowered module that is called ends as: "
        f"{called}; execute, asked directly, {asked}."
    )


@clause("availability.impossible", hosts=EVERY_STATE)
def test_impossible(host: TorchScriptDevice, case: PreparedCase) -> None:
    """A host that cannot compile cannot execute either: execute without compile is not possible there."""
    ability = host.measure(host.lower(case), case.call)
    check(
        ability.state != Availability.EXECUTE_ONLY.value,
        f"compile fails on the host ({ability.compile_error}), and execute works all the same",
    )


@clause("availability.impossible-target", targets=EVERY_STATE)
def test_impossible_target(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """A target that claims to be available can execute what it compiles: no compile without execute there."""
    claims = target.claims_directly()
    artifact = host.save(host.lower(case))
    if not claims:
        with unavailable("loading where is_available() is false"):
            target.load(artifact)
        return
    ability = target.measure(target.load(artifact), case.call)
    check(
        ability.state != Availability.COMPILE_ONLY.value,
        f"the target claims to be available and compiles, but cannot execute: {ability.execute_error}",
    )


@clause("availability.warning", source=(UNAVAILABLE, WORDS), hosts=(NONE, FULL))
def test_warning(host: TorchScriptDevice, case: PreparedCase, backend: Description, context: CellContext) -> None:
    """Lowering on a host where the backend is not available warns that it is not, by name, and that saving and loading
    elsewhere still work; where it is available nothing of the kind is said."""
    said = host.lower(case).warnings
    if context.cell.host is FULL:
        warned = f"Backend [{backend.name}] is not available" in said
        check(not warned, f"a warning although the backend is available: {said.strip():.300}")
    else:
        wanted = f"Backend [{backend.name}] is not available. Execution of this Module is still possible by saving and"
        check(wanted in said, f"expected the warning {wanted!r}..., found {said.strip():.300}")


@clause("availability.lost", source=(UNAVAILABLE, WORDS), runtimes=BOTH_RUNTIMES)
def test_lost(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, backend: Description) -> None:
    """A backend that becomes unavailable after loading: running raises "Backend is not available.", nothing crashes,
    and nothing that was loaded is harmed."""
    loaded = target.load(host.save(host.lower(case)))
    assert_close(target.run_call(loaded, case.call)[0], case.call.expected, f"{case.name}, before the backend is lost")
    if backend.lost is None:
        raise NotExercised(
            "the backend's class gives no way to lose availability in a running process (attribute 'lost')"
        )
    target.switch(backend.lost)
    for call in case.calls:
        with unavailable("running after the backend was lost"):
            target.run_call(loaded, call)
    target.switch(dict.fromkeys(backend.lost) | (backend.environment(FULL) or {}))
    assert_close(target.run_call(loaded, case.call)[0], case.call.expected, "running after it was lost and came back")


@clause(
    "availability.regained",
    source=(AVAILABLE, STATE),
    cases=("add", "two_methods", "parameters", "conv_net"),
    runtimes=BOTH_RUNTIMES,
    hosts=(NONE,),
    targets=(FULL,),
)
def test_regained(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """An artifact that was lowered while the host was unavailable runs on a target where the backend is available."""
    loaded = target.load(host.save(host.lower(case)))
    for call in case.calls:
        assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name}, lowered where unavailable")


@clause("availability.stable", hosts=EVERY_STATE)
def test_stable(host: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """The claim does not change between two questions in the same state. What asking costs is reported where it is
    much."""
    lowered = host.lower(case)
    claims = host.claims(lowered, count=50)
    check(len(set(claims["answers"])) == 1, f"equal questions had the answers {claims['answers']}")
    with record.reporting():
        check(
            claims["slow_seconds"] < 0.1,
            f"three questions took {claims['slow_seconds']:.3f} s or more each; one is asked at every call",
        )
    run_kind(host, lowered, case.call)
    after = host.claims(lowered)["answers"][0]
    check(after == claims["answers"][0], f"after running, the answer is {after}")


@clause("availability.text", source=(UNAVAILABLE, WORDS), runtimes=BOTH_RUNTIMES, hosts=(FULL, NONE), targets=(NONE,))
def test_text(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Loading where the backend is not available raises torch.jit.Error with the text "Backend is not available.", and
    the process is sound afterwards."""
    artifact = host.save(host.lower(case))
    for _ in range(2):
        with unavailable("loading where the backend is not available"):
            target.load(artifact)
    check(not target.claims_directly(), "is_available() is true after loading was refused")
