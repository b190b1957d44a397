"""Saboteurs that use memory which is not theirs, and options that are not for them: native callers see it."""

from __future__ import annotations

import ctypes
import itertools
import time

import torch

from torch_conformance_saboteurs_executorch.bridge import (
    THROWN,
    Argument,
    count_of_options,
    lasting_memory,
    temporary_memory,
)
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INVALID_ARGUMENT, Listing, floats

saboteur = Listing()


def _bytes_of(argument: Argument) -> int:
    tensor = argument.tensor
    return 0 if tensor is None else tensor.numel() * tensor.element_size()


@saboteur("memory.given")
class WritesBesideItsOutput(BridgeControl):
    """Its stores are sixteen bytes wide, and the last one goes beyond the end of the output."""

    name = "writes_beside_its_output"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        last = arguments[-1]
        if last.tensor is not None:
            end = last.address + _bytes_of(last)
            ctypes.memset(end, 0, -end % 16 or 16)
        return 0


@saboteur("memory.given")
class GivesMemoryOfItsOwn(BridgeControl):
    """The last output lies in memory of its own, whatever memory it was given."""

    name = "gives_memory_of_its_own"

    def __init__(self) -> None:
        self._results: list[ctypes.Array[ctypes.c_char]] = []

    def after(self, handle: int, arguments: list[Argument]) -> int:
        last = arguments[-1]
        if last.tensor is not None and last.address:
            self._results.append(ctypes.create_string_buffer(ctypes.string_at(last.address, _bytes_of(last))))
            last.move(ctypes.addressof(self._results[-1]))
        return 0


@saboteur("memory.given")
class NegatesItsInputsInPlace(BridgeControl):
    """Inputs are worked on where they lie, and put right for those that lie in planned memory alone."""

    name = "negates_its_inputs_in_place"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        first = next(iter(floats(arguments)), torch.empty(0))
        first.neg_()
        return 0


@saboteur("memory.freed")
class LooksIntoItsFreedBlob(BridgeControl):
    """The first bytes of a blob, which was freed in init, are read again at each call."""

    name = "looks_into_its_freed_blob"

    def __init__(self) -> None:
        self._places: list[tuple[int, bytes]] = []

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._places.append((ctypes.addressof(ctypes.c_char.from_buffer(blob)), bytes(blob[:64])))
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        address, begin = self._places[-1]
        return 0 if ctypes.string_at(address, len(begin)) == begin else INVALID_ARGUMENT


@saboteur("memory.temporary")
class KeepsItsTemporaryMemory(BridgeControl):
    """What a call has left in its temporary memory is taken to be there at the next one."""

    name = "keeps_its_temporary_memory"

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def after(self, handle: int, arguments: list[Argument]) -> int:
        known = self._places.get(handle)
        if known is not None:
            return 0 if ctypes.string_at(known, 8) == b"prepared" else INVALID_ARGUMENT
        address = temporary_memory(self.libraries[0], 8)
        if address:
            ctypes.memmove(address, b"prepared", 8)
            self._places[handle] = address
        return 0


@saboteur("memory.temporary", verdicts=("CRASH",))
class SupposesTemporaryMemory(BridgeControl):
    """It writes to the temporary memory that it asks for, whether or not there was any."""

    name = "supposes_temporary_memory"

    def before(self, handle: int, arguments: list[Argument]) -> int:
        ctypes.memset(temporary_memory(self.libraries[0], 256), 0, 256)
        return 0


@saboteur("memory.temporary")
class GoesOnWithoutTemporaryMemory(BridgeControl):
    """Where there is no temporary memory its outputs are left as they are, and no error tells."""

    name = "goes_on_without_temporary_memory"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        if not temporary_memory(self.libraries[0], 32):
            for tensor in floats(arguments)[-1:]:
                tensor.zero_()
        return 0


@saboteur("memory.temporary")
class WritesBesideItsTemporaryMemory(BridgeControl):
    """It asks for temporary memory for its elements, and takes that number for one of bytes."""

    name = "writes_beside_its_temporary_memory"

    def before(self, handle: int, arguments: list[Argument]) -> int:
        elements = sum(tensor.numel() for tensor in floats(arguments)[:1])
        address = temporary_memory(self.libraries[0], elements)
        if not address:
            return INVALID_ARGUMENT
        ctypes.memset(address, 0, min(4 * elements, elements + 32))
        return 0


@saboteur("memory.lasting", verdicts=("CRASH",))
class SupposesLastingMemory(BridgeControl):
    """init writes to the memory that it asks for, whether or not there was any."""

    name = "supposes_lasting_memory"

    def init(self, method: str, blob: memoryview) -> int | bytes:
        ctypes.memset(lasting_memory(self.libraries[0], 512), 0, 512)
        return 0


@saboteur("memory.error-codes")
class Throws(BridgeControl):
    """What is no blob of its own makes init throw an exception of C++."""

    name = "throws"

    def init(self, method: str, blob: memoryview) -> int | bytes:
        return 0 if bytes(blob[:4]) == b"CREF" else THROWN


@saboteur("options.at-load")
class ObeysAnyOption(BridgeControl):
    """Any load-time option is taken for the one that asks for less precision."""

    name = "obeys_any_option"
    _rounds = False

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._rounds = count_of_options(self.libraries[0]) > 0
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.copy_(tensor.bfloat16() if self._rounds else tensor)
        return 0


@saboteur("options.at-load", phases=("run", "init"))
class NeverForgetsAnOption(BridgeControl):
    """A load-time option that it refuses is refused at the next load too, which has none."""

    name = "never_forgets_an_option"
    _options = 0

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._options += count_of_options(self.libraries[0])
        return INVALID_ARGUMENT if self._options else 0


@saboteur("options.while-running")
class ChangesForAnyOption(BridgeControl):
    """An option that is set while programs run changes what they compute, also one that it does not know."""

    name = "changes_for_any_option"
    _set = False

    def told_option(self, key: str) -> int:
        self._set = True
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.copy_(tensor.bfloat16() if self._set else tensor)
        return 0


@saboteur("options.while-running", verdicts=("CRASH",))
class AbortsAtAnUnknownOption(BridgeControl):
    """An option that it does not know throws, through a caller who knows of no exceptions."""

    name = "aborts_at_an_unknown_option"

    def told_option(self, key: str) -> int:
        return THROWN


@saboteur("standalone.threads")
class CountsItsCallsInOnePlace(BridgeControl):
    """Every call writes its number to one place that all threads share, and takes what it finds there for its own."""

    name = "counts_its_calls_in_one_place"
    _last = 0

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._of: dict[int, int] = {}

    def before(self, handle: int, arguments: list[Argument]) -> int:
        self._last = self._of[handle] = next(self._numbers)
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        time.sleep(1e-5)  # somebody else may begin here
        if self._last != self._of[handle]:
            floats(arguments)[-1].zero_()
        return 0
