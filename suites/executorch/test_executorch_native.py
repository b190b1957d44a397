"""Without Python: what the run-time half needs of the process that loads it."""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.toolchains.executorch.assertions import assert_called, expect_caller
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import CONCURRENT, SPLIT
from conformance.toolchains.shared_objects import is_of_python, is_of_pytorch, unwanted_libraries

clause = clauses(source=SPLIT, level=Level.COMPLETE)


@clause("standalone.needs-no-python", control=Control.NONE)
def test_needs_no_python(backend: Description) -> None:
    """The libraries of the run-time half need neither Python nor PyTorch, be it through another library: devices have
    neither."""
    if not backend.libraries:
        raise NotApplicable(f"ExecuTorch itself brings {backend.name}: there is no library of the backend's")
    for library in backend.libraries:
        needed = unwanted_libraries(library, lambda name: is_of_python(name) or is_of_pytorch(name))
        check(not needed, f"the run-time half needs what a device has not: {'; '.join(needed)}")


@clause("standalone.threads", source=CONCURRENT, cases=("add_sub", "linear", "conv_net"))
def test_standalone_threads(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Several threads with no lock between them, each of which loads a program of its own and lets it go, get the
    outputs for their own inputs each time."""
    expect_caller(target)
    program = host.emit(host.lower(case))
    assert_called(target.call_natively(program, case.calls), case.calls, case.name)
    calls = [*case.calls[:2], *case.calls[:2]]
    found = target.call_natively_at_once(program, calls, 100)
    check(not found.errors, f"{case.name}, one of {len(calls)} threads: {'; '.join(found.errors):.300}")
    for call, results in zip(calls, found.results, strict=True):
        for result in results:
            assert_close(result, call.expected, f"{case.name}, by one of {len(calls)} threads")
