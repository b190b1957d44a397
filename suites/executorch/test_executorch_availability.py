"""Availability: the registry of the runtime, what a delegate says of itself there, and what follows of it."""

from __future__ import annotations

from conformance.api.assertions import check, refused
from conformance.api.availability import Availability
from conformance.api.errors import SubjectError
from conformance.api.verdicts import NotApplicable, NotExercised
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.toolchains.executorch.assertions import assert_calls, assert_computes, check_called
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import AVAILABLE, REGISTERED, TABLE

NONE, FULL = Availability.NONE, Availability.FULL

clause = clauses(source=REGISTERED, level=Level.CORE, control=Control.NONE)


@clause("registry.registered")
def test_registered(target: ExecuTorchDevice, bare: ExecuTorchDevice, backend: Description) -> None:
    """After the author's load() the runtime has a delegate of the backend's name. Where the author names libraries,
    it has none before."""
    names = target.registered()
    check(backend.name in names, f"the runtime has no delegate {backend.name!r}: it has {', '.join(names)}")
    if backend.libraries:
        before = bare.registered()
        check(backend.name not in before, f"the runtime has {backend.name!r} without the libraries of the backend")


@clause("registry.twice")
def test_registered_twice(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description
) -> None:
    """Loading the run-time half again in one process does no harm: the registry is as it was, and what was loaded
    before, and what is loaded then, is right."""
    program = host.emit(host.lower(case))
    before, methods = target.registered(), target.open(program, case.methods)
    target.register_again()
    after = target.registered()
    check(before == after, f"the runtime had {', '.join(before)} before and has {', '.join(after)} afterwards")
    assert_calls(target, methods, case.calls, f"{case.name}, loaded before {backend.name} was registered again")
    assert_computes(target, program, case, f"{case.name}, loaded after {backend.name} was registered again")


@clause("registry.unregistered")
def test_unregistered(host: ExecuTorchDevice, bare: ExecuTorchDevice, case: PreparedCase, backend: Description) -> None:
    """Where the delegate is not registered a program loads, and its method is refused; the log names the delegate."""
    if backend.name in bare.registered():
        raise NotApplicable(f"the runtime itself brings {backend.name}: there is no process without it")
    program = host.emit(host.lower(case))
    check_called(host.contents(program), backend.name, ["forward"], case.name)
    loaded = bare.load(program)
    with refused("loading a method whose delegate is not registered") as refusal:
        bare.load_method(loaded, "forward")
    said = refusal.error.stderr if refusal.error else ""
    check(backend.name in said, f"the log of the refusal does not name {backend.name!r}: {said.strip():.300}")


@clause("registry.claim", source=AVAILABLE, level=Level.MOBILE, targets=(FULL, NONE))
def test_claim(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description) -> None:
    """is_available is true exactly where a method can be loaded and run."""
    program = host.emit(host.lower(case))
    check_called(host.contents(program), backend.name, ["forward"], case.name)
    if target.available(backend.name)[0]:
        assert_computes(target, program, case, f"{case.name}, where the delegate says that it is available")
    else:
        with refused("a method whose delegate says that it is not available"):
            assert_computes(target, program, case, case.name)


@clause("registry.claim-stable", source=AVAILABLE, level=Level.MOBILE, targets=(FULL, NONE))
def test_claim_stable(target: ExecuTorchDevice, backend: Description) -> None:
    """Asked a hundred times, a delegate says the same about whether it is available."""
    answers = set(target.available(backend.name, 100))
    check(len(answers) == 1, f"{backend.name!r} is available at one question and not at another")


@clause("registry.target", source=TABLE, level=Level.MOBILE, hosts=(FULL, NONE), targets=(NONE,))
def test_target(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description) -> None:
    """Where the delegate is not available a program loads, and its method is refused; the log says that it is not
    available, by its name."""
    loaded = target.load(host.emit(host.lower(case)))
    with refused("loading a method whose delegate is not available") as refusal:
        target.load_method(loaded, "forward")
    said = refusal.error.stderr if refusal.error else ""
    wanted = f"Backend {backend.name} is not available"
    check(wanted in said, f"expected the log of the refusal to say {wanted!r}, found {said.strip():.300}")


@clause(
    "registry.regained", source=TABLE, level=Level.MOBILE, hosts=(NONE,), targets=(FULL,), cases=("add", "parameters")
)
def test_regained(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program that was lowered on a host where the delegate is not available is right where it is."""
    assert_computes(target, host.emit(host.lower(case)), case, f"{case.name}, lowered where not available")


@clause("registry.lost", source=TABLE, level=Level.MOBILE, cases=("add_sub", "linear"))
def test_lost(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description) -> None:
    """Where a delegate becomes unavailable after a method was loaded, a call raises or is right, and loading is
    refused; when it comes back, what was loaded before is right, and what is loaded then."""
    program = host.emit(host.lower(case))
    if not host.contents(program)["forward"].calls:
        raise NotApplicable(f"nothing of {case.name} is delegated: it goes on without the delegate")
    methods = target.open(program)
    assert_calls(target, methods, case.calls, case.name)
    if backend.lost is None:
        raise NotExercised(
            "the backend's class gives no way to lose availability in a running process (attribute 'lost')"
        )
    target.switch(backend.lost)
    for call in case.calls:
        try:
            found = target.run(methods["forward"], call.inputs)
        except SubjectError:
            continue
        assert_close(found, call.expected, f"{case.name}, called after {backend.name} was lost")
    with refused(f"loading a method after {backend.name} was lost"):
        target.open(program)
    target.switch(dict.fromkeys(backend.lost) | (backend.environment(FULL) or {}))
    assert_calls(target, methods, case.calls, f"{case.name}, loaded before {backend.name} was lost and came back")
    assert_computes(target, program, case, f"{case.name}, loaded after {backend.name} came back")
