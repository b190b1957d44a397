"""Without Python: an artifact is loaded and run, and made, by a program that has libtorch and nothing else."""

from __future__ import annotations

from conformance.api.assertions import check, refused
from conformance.api.availability import Availability
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.toolchains.shared_objects import is_of_python, unwanted_libraries
from conformance.toolchains.torchscript.assertions import NOT_AVAILABLE, assert_hands_over, unavailable
from conformance.toolchains.torchscript.client import PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.promises import (
    FROM_CPP,
    SAME_MODULE,
    SAVED,
    THREADS,
    THROWN,
    UNAVAILABLE,
    WITHOUT_PYTHON,
    WORDS,
)

NONE, FULL = Availability.NONE, Availability.FULL
REPRESENTATIVE = ("add", "two_methods", "parameters", "lstm")
OF_EVERY_TYPE = ("several_outputs", "nested_values", "scalars", "optionals", "strings", "integers", "half_precision")

clause = clauses(level=Level.COMPLETE, runtimes=("full", "lite"))


@clause("native.same-outputs", source=(SAVED, SAME_MODULE), cases=(*REPRESENTATIVE, *OF_EVERY_TYPE))
def test_outputs(host: TorchScriptDevice, native: TorchScriptDevice, case: PreparedCase) -> None:
    """A program without Python that loads a saved lowered module gets the same outputs from it, for every method."""
    loaded = native.load(host.save(host.lower(case)))
    for call in (*case.calls, *case.calls):
        assert_close(native.run_call(loaded, call)[0], call.expected, f"{case.name}.{call.method}, without Python")


@clause("native.threads", source=THREADS)
def test_threads(host: TorchScriptDevice, native: TorchScriptDevice, case: PreparedCase) -> None:
    """Several threads of a program without Python run one loaded module at once, where no lock of Python's keeps them
    apart, and each gets the outputs for its own inputs."""
    loaded = native.load(host.save(host.lower(case)))
    calls = case.calls_of("forward") * 3
    for call, result in zip(calls, native.run_at_once(loaded, calls, repeat=20), strict=True):
        assert_close(result, call.expected, f"{case.name}, one of {len(calls)} threads")


@clause("native.unavailable", source=(UNAVAILABLE, WORDS), hosts=(FULL, NONE), targets=(NONE,), control=Control.NONE)
def test_unavailable(host: TorchScriptDevice, native: TorchScriptDevice, case: PreparedCase) -> None:
    """In a program without Python, loading where the backend is not available throws torch::jit::JITException with the
    text "Backend is not available.", and the program can go on."""
    artifact = host.save(host.lower(case))
    for _ in range(2):
        with unavailable("loading without Python where the backend is not available"):
            native.load(artifact)
    check(not native.claims_directly(), "is_available() is true after loading was refused")


@clause("native.error", source=(SAVED, SAME_MODULE, THROWN))
def test_error(host: TorchScriptDevice, native: TorchScriptDevice, case: PreparedCase) -> None:
    """In a program without Python, an error of execute arrives as an exception with a text, and not as "Backend is not
    available."; the program and the module are sound afterwards."""
    loaded = native.load(host.save(host.lower(case)))
    first, second = case.call.inputs
    with refused("running without Python on inputs whose shapes do not fit") as refusal:
        native.run(loaded, case.call.method, (first, second.new_ones(7, 5, 11)))
    check(refusal.is_a("RuntimeError"), f"expected c10::Error or another std::exception, found {refusal.type}")
    check(NOT_AVAILABLE not in refusal.text, f"an error of execute passes for something else: {refusal.text:.200}")
    assert_close(native.run_call(loaded, case.call)[0], case.call.expected, f"{case.name}, after an error")


@clause("native.lowering", source=(FROM_CPP, SAME_MODULE), cases=REPRESENTATIVE, control=Control.NONE)
def test_lowering(
    host: TorchScriptDevice,
    native: TorchScriptDevice,
    target: TorchScriptDevice,
    case: PreparedCase,
    backend: Description,
) -> None:
    """A module that a program without Python lowers (codegen_backend_module) gives an artifact that computes the same
    as one lowered from Python."""
    original = host.script(case)
    scripted = native.load(host.save(original, runtime="full"))
    artifact = native.save(native.lower(scripted, spec=host.given_spec(original)))
    assert_hands_over(artifact, backend.name)
    loaded = target.load(artifact)
    for call in case.calls:
        assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name}, lowered without Python")


@clause("native.no-python", source=(WITHOUT_PYTHON, SAVED), runtimes=("full",), control=Control.NONE)
def test_no_python(
    host: TorchScriptDevice, native: TorchScriptDevice, case: PreparedCase, backend: Description
) -> None:
    """The backend's library needs neither libtorch_python nor Python, be it through another library, and running an
    artifact brings no part of Python into the program."""
    for library in backend.libraries:
        needed = unwanted_libraries(library)
        check(not needed, f"the backend's library needs parts of Python: {'; '.join(needed)}")
    result = native.run_call(native.load(host.save(host.lower(case))), case.call)[0]
    assert_close(result, case.call.expected, f"{case.name}, without Python")
    found = [file for file in native.mapped_files() if is_of_python(file)]
    check(not found, f"running brought parts of Python into the program: {found}")
