"""Save and load: a program as the bytes of a .pte, loaded in another process."""

from __future__ import annotations

from conformance.api.assertions import check, refused
from conformance.api.verdicts import NotApplicable
from conformance.contract import Control, Level, clauses
from conformance.run.result import Record
from conformance.toolchains.executorch.assertions import assert_calls, assert_computes, is_refused
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase

REPRESENTATIVE = ("add", "parameters", "conv_net", "two_methods")

RUNTIME = "https://docs.pytorch.org/executorch/stable/runtime-python-api-reference.html"
DELEGATES = "https://docs.pytorch.org/executorch/stable/compiler-delegate-and-partitioner.html"

clause = clauses(source=RUNTIME, level=Level.CORE)


@clause("program.same-outputs", cases=REPRESENTATIVE)
def test_same_outputs(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A .pte needs nothing of the process that made it: it is loaded after that process has ended, and gives the same
    outputs, for every method."""
    program = host.emit(host.lower(case))
    host.release()
    host.end()
    methods = target.open(program, case.methods)
    assert_calls(target, methods, (*case.calls, *case.calls), f"{case.name}, its host gone")


@clause("program.ways", cases=("add", "linear"))
def test_ways(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program is the same by whichever way it is loaded: from a path, an open file, bytes, a bytearray; and once
    more from the same, when the first is gone."""
    program = host.emit(host.lower(case))
    for via in ("path", "file", "bytes", "bytearray"):
        for loaded in (target.load(program, via), target.load_again(program, via)):
            methods = {"forward": target.load_method(loaded, "forward")}
            assert_calls(target, methods, case.calls, f"{case.name}, loaded via {via}")


@clause("program.truncated", cases=("add", "linear"))
def test_truncated(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A truncated .pte is refused, wherever it ends."""
    program = host.emit(host.lower(case))
    for part in range(41):
        length = len(program) * part // 41
        with refused(f"{case.name}: the first {length} of {len(program)} bytes"):
            target.open(program[:length])
    assert_computes(target, program, case, f"{case.name}, after parts of it were refused")


@clause("program.blob-truncated", source=DELEGATES, cases=("add", "linear", "conv"), control=Control.NONE)
def test_blob_truncated(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """A blob that ends early, or is empty, inside a well-formed .pte: the method is refused, or computes what is right;
    no crash, no hang, no wrong number."""
    program = host.emit(host.lower(case))
    blob, *_ = host.blobs(program) or [b""]
    if not blob:
        raise NotApplicable(f"there is no blob in the program of {case.name} that could end early")
    lengths = sorted({len(blob) * part // 24 for part in range(24)})
    refusals = [is_refused(target, host.with_blob(program, 0, blob[:length]), case) for length in lengths]
    record.note(f"{case.name}: {sum(refusals)} of {len(lengths)} truncated blobs were refused, the others were right")
    assert_computes(target, program, case, f"{case.name}, after parts of its blob were refused")


@clause(
    "program.no-host-paths",
    source=DELEGATES,
    cases=("add", "linear", "conv_net"),
    control=Control.NONE,
)
def test_no_host_paths(host: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program names no folder of the process that made it."""
    program = host.emit(host.lower(case))
    found = sorted({each for each in host.identity()["folders"] if each != "/" and each.encode() in program})
    check(not found, f"the program of {case.name} names {', '.join(found)}, of the process that lowered it")
