"""Save and load: a program as the bytes of a .pte, loaded in another process."""

from __future__ import annotations

from conformance.api.assertions import check, refused
from conformance.api.availability import Availability
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.executorch.assertions import assert_calls, assert_computes, is_refused
from conformance.toolchains.executorch.client import ExecuTorchDevice, Method, PreparedCase, Program
from conformance.toolchains.executorch.promises import (
    ALIGNED,
    ANY_SOURCE,
    EVERY_INIT,
    FREED,
    INIT,
    INVALID_PROGRAM,
    PORTABLE,
    SPECS,
)

REPRESENTATIVE = ("add", "parameters", "conv_net", "two_methods")

DELEGATES = "https://docs.pytorch.org/executorch/stable/compiler-delegate-and-partitioner.html"

clause = clauses(source=PORTABLE, level=Level.CORE)


@clause("program.same-outputs", cases=REPRESENTATIVE)
def test_same_outputs(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A .pte needs nothing of the process that made it: it is loaded after that process has ended, and gives the same
    outputs, for every method."""
    program = host.emit(host.lower(case))
    host.release()
    host.end()
    methods = target.open(program, case.methods)
    assert_calls(target, methods, (*case.calls, *case.calls), f"{case.name}, its host gone")


@clause("program.ways", source=ANY_SOURCE, cases=("add", "linear"))
def test_ways(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program is the same by whichever way it is loaded: from a path, an open file, bytes, a bytearray; and once
    more from the same, when the first is gone."""
    program = host.emit(host.lower(case))
    for via in ("path", "file", "bytes", "bytearray"):
        for loaded in (target.load(program, via), target.load_again(program, via)):
            methods = {"forward": target.load_method(loaded, "forward")}
            assert_calls(target, methods, case.calls, f"{case.name}, loaded via {via}")


@clause("program.truncated", source=INVALID_PROGRAM, cases=("add", "linear"))
def test_truncated(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A truncated .pte is refused, wherever it ends."""
    program = host.emit(host.lower(case))
    for part in range(41):
        length = len(program) * part // 41
        with refused(f"{case.name}: the first {length} of {len(program)} bytes"):
            target.open(program[:length])
    assert_computes(target, program, case, f"{case.name}, after parts of it were refused")


@clause("program.blob-truncated", source=INIT, cases=("add", "linear", "conv"), control=Control.NONE)
def test_blob_truncated(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """A blob that ends early, or is empty, inside a well-formed .pte: the method is refused, or computes what is right;
    no crash, no hang, no wrong number."""
    program = host.emit(host.lower(case))
    blob = _first_blob(host, program, case)
    lengths = sorted({len(blob) * part // 24 for part in range(24)})
    refusals = [is_refused(target, host.with_blob(program, 0, blob[:length]), case) for length in lengths]
    record.note(f"{case.name}: {sum(refusals)} of {len(lengths)} truncated blobs were refused, the others were right")
    assert_computes(target, program, case, f"{case.name}, after parts of its blob were refused")


@clause(
    "program.no-host-paths",
    cases=("add", "linear", "conv_net"),
    control=Control.NONE,
)
def test_no_host_paths(host: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program names no folder of the process that made it."""
    program = host.emit(host.lower(case))
    found = sorted({each for each in host.identity()["folders"] if each != "/" and each.encode() in program})
    check(not found, f"the program of {case.name} names {', '.join(found)}, of the process that lowered it")


@clause("program.blob-garbled", source=INIT, cases=("add", "linear", "conv"), control=Control.NONE)
def test_blob_garbled(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """What is no blob at all, inside a well-formed .pte, is refused with an error: zeros, ones, noise, a text, the blob
    backwards, or behind something else. No crash and no hang; and the good program is right afterwards."""
    program = host.emit(host.lower(case))
    blob = _first_blob(host, program, case)
    assert_computes(target, program, case, case.name)
    for what, garbled in _garbled(blob).items():
        with refused(f"{case.name}: {what} in place of the blob"):
            assert_computes(target, host.with_blob(program, 0, garbled), case, f"{case.name}, {what} for a blob")
    assert_computes(target, program, case, f"{case.name}, after what is no blob was refused")


def _garbled(blob: bytes) -> dict[str, bytes]:
    length = len(blob)
    return {
        "zeros": bytes(length),
        "ones": b"\xff" * length,
        "noise": bytes(number * 197 + (number >> 3) * 31 + 89 & 0xFF for number in range(length)),
        "a text": (b"this is no blob; " * (length // 17 + 1))[:length],
        "the blob backwards": blob[::-1],
        "the blob behind 32 zeros": bytes(32) + blob,
    }


@clause("program.specs", source=SPECS, cases=("add", "linear", "two_methods"), control=Control.NONE)
def test_specs(host: ExecuTorchDevice, case: PreparedCase) -> None:
    """A .pte has for each delegate the compile specs of the partitioner's DelegationSpec, byte by byte: preprocess
    leaves them alone."""
    exported = host.export(case)
    given = host.specs_given(exported)
    for method, contents in host.contents(host.emit(host.lower(exported))).items():
        for found in contents.specs:
            check(
                found in given,
                f"{case.name}.{method}: expected the compile specs of a DelegationSpec, {given}, found {found}",
            )


@clause("program.specs-damaged", source=(INIT, SPECS), cases=("add", "linear"), control=Control.NONE)
def test_specs_damaged(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """Where a compile spec is missing from a .pte, is empty, or holds something else, the method is refused, or
    computes what is right; no crash, no wrong number."""
    program = host.emit(host.lower(case))
    specs = next((each for method in host.contents(program).values() for each in method.specs), {})
    if not specs:
        raise NotApplicable(f"the delegate of {case.name} has no compile specs that could be damaged")
    refusals = []
    for key, value in specs.items():
        rest = {name: each for name, each in specs.items() if name != key}
        for other in (rest, {**rest, key: b""}, {**rest, key: b"\xff" * (len(value) + 1)}):
            refusals.append(is_refused(target, host.with_specs(program, 0, other), case))
    record.note(f"{case.name}: {sum(refusals)} of {len(refusals)} damages to specs were refused, the others were right")
    assert_computes(target, program, case, f"{case.name}, after damaged specs")


@clause("program.file-removed", source=FREED, cases=("linear", "conv_net", "two_methods"))
def test_file_removed(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """What was loaded from a file goes on working when the file is removed: a delegate reads nothing of its blob after
    it has freed it."""
    program = host.emit(host.lower(case))
    loaded = target.load_unlinked(program, case.methods)
    methods = dict(zip(case.methods, loaded, strict=True))
    assert_calls(target, methods, (*case.calls, *case.calls), f"{case.name}, its file removed")


@clause("program.alignment", source=ALIGNED, level=Level.COMPLETE, cases=("linear", "conv", "sandwich"))
def test_alignment(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A blob is read wherever it lies: a program whose segments begin at multiples of four bytes, as ExecuTorch's
    configuration allows, computes the same."""
    for alignment in (4, 16, 4096):
        program = host.emit(host.lower(case), alignment=alignment)
        assert_computes(target, program, case, f"{case.name}, segments at multiples of {alignment} bytes")


@clause("program.reproducible", source=DELEGATES, level=Level.REPORTED, cases=REPRESENTATIVE)
def test_reproducible(context: CellContext, host: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """Whether the same model gives the same bytes, lowered twice in one process and once in another, so that what was
    built can be built again and compared."""
    first, again = (host.emit(host.lower(case)) for _ in range(2))
    other_host: ExecuTorchDevice = context.device("host again", Availability.FULL)
    elsewhere = other_host.emit(other_host.lower(case))
    for what, program in (("in the same process", again), ("in another process", elsewhere)):
        with record.reporting():
            check(
                program == first,
                f"{case.name}, lowered again {what}: expected the same {len(first)} bytes, found {len(program)} of "
                f"which the first that differs is at {_first_difference(first, program)}",
            )


def _first_difference(one: bytes, other: bytes) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@clause("program.overlapping-lives", source=EVERY_INIT, cases=("parameters", "two_methods"))
def test_overlapping_lives(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program that is loaded while another of the same bytes is in use, and one that outlives it, compute the
    same: a method of one is called between those of the other."""
    program = host.emit(host.lower(case))
    older, older_methods = _opened(target, program, case)
    for generation in range(4):
        newer, newer_methods = _opened(target, program, case)
        for call in case.calls:
            for methods in (older_methods, newer_methods, older_methods):
                found = target.run(methods[call.method], call.inputs)
                assert_close(found, call.expected, f"{case.name}.{call.method}, generation {generation}")
        target.forget(older)
        for method in older_methods.values():
            target.forget(method)
        older, older_methods = newer, newer_methods


def _opened(target: ExecuTorchDevice, program: bytes, case: PreparedCase) -> tuple[Program, dict[str, Method]]:
    loaded = target.load(program)
    return loaded, {name: target.load_method(loaded, name) for name in case.methods}


def _first_blob(host: ExecuTorchDevice, program: bytes, case: PreparedCase) -> bytes:
    """The first blob of a program. Raises NotApplicable where it has none."""
    blob, *_ = host.blobs(program) or [b""]
    if not blob:
        raise NotApplicable(f"there is no blob in the program of {case.name} that could be damaged")
    return blob
