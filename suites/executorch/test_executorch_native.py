"""Without Python: what the run-time half needs of the process that loads it."""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.api.verdicts import NotApplicable
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.toolchains.shared_objects import is_of_python, is_of_pytorch, unwanted_libraries

clause = clauses(
    source="https://docs.pytorch.org/executorch/stable/backend-delegates-integration.html", level=Level.COMPLETE
)


@clause("standalone.needs-no-python", control=Control.NONE)
def test_needs_no_python(backend: Description) -> None:
    """The libraries of the run-time half need neither Python nor PyTorch, be it through another library: devices have
    neither."""
    if not backend.libraries:
        raise NotApplicable(f"ExecuTorch itself brings {backend.name}: there is no library of the backend's")
    for library in backend.libraries:
        needed = unwanted_libraries(library, lambda name: is_of_python(name) or is_of_pytorch(name))
        check(not needed, f"the run-time half needs what a device has not: {'; '.join(needed)}")
