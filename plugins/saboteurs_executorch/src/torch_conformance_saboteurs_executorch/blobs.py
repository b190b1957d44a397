"""Saboteurs whose blobs are broken: what is in them, and how they are read."""

from __future__ import annotations

import ctypes
import itertools
import struct
import time
import zlib
from typing import TYPE_CHECKING, Any

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs_executorch.bridge import Argument, specs_in
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INVALID_ARGUMENT, Listing, floats
from torch_conformance_saboteurs_executorch.running import unchecked

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase

saboteur = Listing()


class _WithTail(BridgeControl):
    """Has something behind the blob that nobody reads."""

    def tail(self) -> bytes:
        raise NotImplementedError

    def preprocess(self, program: Any, specs: Any) -> bytes:
        blob = super().preprocess(program, specs)
        return struct.pack("<Q", len(blob)) + blob + self.tail()

    def init(self, method: str, blob: memoryview) -> int | bytes:
        (length,) = struct.unpack("<Q", blob[:8])
        return bytes(blob[8:][:length])


@saboteur("program.reproducible", verdicts=(REPORTED,), phases=("emit",))
class WritesTheTime(_WithTail):
    """Behind the blob stands when it was made."""

    name = "writes_the_time"

    def tail(self) -> bytes:
        return struct.pack("<Q", time.time_ns())


@saboteur("program.reproducible", verdicts=(REPORTED,), phases=("emit",))
class CountsItsBlobs(_WithTail):
    """Behind the blob stands how many were made before it in the process."""

    name = "counts_its_blobs"

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def tail(self) -> bytes:
        return struct.pack("<Q", next(self._numbers))


@saboteur("program.blob-garbled")
class FallsBackToTheLastGoodBlob(BridgeControl):
    """What is no blob is taken for the last one that was."""

    name = "falls_back_to_the_last_good_blob"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        return b"HEAD" + super().preprocess(program, specs)

    def __init__(self) -> None:
        self._good = b""

    def init(self, method: str, blob: memoryview) -> int | bytes:
        if bytes(blob[:4]) == b"HEAD":
            self._good = bytes(blob[4:])
        return self._good or INVALID_ARGUMENT


@saboteur("program.blob-garbled", verdicts=("FAIL",), phases=("run", "init"))
class TakesZerosForNoWork(BridgeControl):
    """A blob that does not begin with its mark is one without work: init succeeds, and the outputs are left as they
    are."""

    name = "takes_zeros_for_no_work"
    # The reference delegate has to run something: the blob that was loaded last, whose results are dropped.

    def __init__(self) -> None:
        self._last = b""
        self._idle = False

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._idle = bytes(blob[:4]) != b"CREF" and bool(self._last)
        if not self._idle:
            self._last = bytes(blob)
        return self._last

    def after(self, handle: int, arguments: list[Argument]) -> int:
        if self._idle:
            for tensor in floats(arguments)[-1:]:
                tensor.zero_()
        return 0


@saboteur("program.blob-garbled", verdicts=("CRASH",), phases=("init",))
class TrustsTheLengthInItsBlob(BridgeControl):
    """How much is read is what the blob says at its beginning, however long it is."""

    name = "trusts_the_length_in_its_blob"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        blob = super().preprocess(program, specs)
        return struct.pack("<Q", len(blob)) + blob

    def init(self, method: str, blob: memoryview) -> int | bytes:
        (length,) = struct.unpack("<Q", blob[:8])
        address = ctypes.addressof(ctypes.c_char.from_buffer(blob)) + 8
        far = ctypes.c_char.from_address(address + min(length, 1 << 50)).value  # its last byte
        return bytes(blob[8:][:length]) if far is not None else INVALID_ARGUMENT


@saboteur("program.blob-truncated", verdicts=("CRASH", "FAIL"), phases=("init", "run"))
class ReadsBeyondItsBlob(BridgeControl):
    """A table of contents says where things lie, and is believed: what is missing is taken from the memory behind."""

    name = "reads_beyond_its_blob"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        blob = super().preprocess(program, specs)
        return struct.pack("<Q", len(blob)) + blob

    def init(self, method: str, blob: memoryview) -> int | bytes:
        if len(blob) < 8 + 64:
            return INVALID_ARGUMENT
        (length,) = struct.unpack("<Q", blob[:8])
        address = ctypes.addressof(ctypes.c_char.from_buffer(blob)) + 8
        return unchecked(ctypes.string_at(address, length))


@saboteur("program.specs", phases=("inspect",))
class ConsumesItsSpecs(BridgeControl):
    """Preprocess takes the compile specs out of the list that it is given, one after the other."""

    name = "consumes_its_specs"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        while specs:
            specs.pop()
        return super().preprocess(program, specs)


@saboteur("program.specs", phases=("inspect",))
class SignsItsSpecs(BridgeControl):
    """Preprocess appends a byte to the value of a compile spec, to know it again."""

    name = "signs_its_specs"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        for spec in specs[:1]:
            spec.value = bytes(spec.value) + b"!"
        return super().preprocess(program, specs)


@saboteur("program.specs-damaged")
class TrustsItsSpecs(BridgeControl):
    """Results are scaled by what a compile spec says, whatever it says; where it is missing, by nothing."""

    name = "trusts_its_specs"
    _factor = 1.0

    def specs(self, case: LoweredCase) -> dict[str, bytes]:
        return {"factor": struct.pack("<d", 1.0)}

    def told_specs(self, specs: bytes) -> None:
        self._told = specs
        value = specs_in(specs).get("factor", b"")
        self._factor = struct.unpack("<d", value[:8].ljust(8, b"\0"))[0]

    def init(self, method: str, blob: memoryview) -> int | bytes:
        if bytes(blob[:4]) != b"CREF":
            return INVALID_ARGUMENT
        return bytes(blob[:12]) + struct.pack("<I", zlib.crc32(self._told)) + bytes(blob[16:])

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.mul_(self._factor)
        return 0


@saboteur("program.file-removed", verdicts=("CRASH", "FAIL"), phases=("run",))
class KeepsAPointerIntoItsBlob(BridgeControl):
    """At each call it looks into the blob where init found it, although it was freed since."""

    name = "keeps_a_pointer_into_its_blob"

    def __init__(self) -> None:
        self._blobs: list[tuple[int, int, int]] = []

    def init(self, method: str, blob: memoryview) -> int | bytes:
        address = ctypes.addressof(ctypes.c_char.from_buffer(blob))
        self._blobs.append((address, len(blob), zlib.crc32(blob)))
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        intact = all(zlib.crc32(ctypes.string_at(address, size)) == code for address, size, code in self._blobs[-1:])
        return 0 if intact else INVALID_ARGUMENT


@saboteur("program.alignment", phases=("init",))
class NeedsAlignedBlobs(BridgeControl):
    """A blob that does not begin at a multiple of sixteen is refused."""

    name = "needs_aligned_blobs"

    def init(self, method: str, blob: memoryview) -> int | bytes:
        return INVALID_ARGUMENT if ctypes.addressof(ctypes.c_char.from_buffer(blob)) % 16 else 0


@saboteur("program.overlapping-lives", "execute.instances")
class OneLifeForABlob(BridgeControl):
    """What init makes is kept for each blob; with the first of those that share it, it is gone for all."""

    name = "one_life_for_a_blob"

    def __init__(self) -> None:
        self._loaded = 0
        self._blob_of: dict[int, int] = {}
        self._dead: set[int] = set()

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._loaded = zlib.crc32(blob)
        if self._loaded not in self._blob_of.values():
            self._dead.discard(self._loaded)
        return 0

    def before(self, handle: int, arguments: list[Argument]) -> int:
        self._blob_of.setdefault(handle, self._loaded)
        return INVALID_ARGUMENT if self._blob_of[handle] in self._dead else 0

    def destroy(self, handle: int) -> bool:
        blob = self._blob_of.pop(handle, None)
        if blob is not None:
            self._dead.add(blob)
        return True
