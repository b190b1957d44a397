"""Saboteurs whose weights lie in a file of their own, where they look for them wrongly."""

from __future__ import annotations

import ctypes

from torch_conformance_saboteurs_executorch.bridge import Argument, freed_data, named_data
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INVALID_ARGUMENT, Listing, floats
from torch_conformance_saboteurs_executorch.running import unchecked

saboteur = Listing()

_HEAD = 16


def _key_of(blob: memoryview) -> bytes:
    """The name of the data that a blob asks for; empty where all of it is in the blob."""
    return bytes(blob[_HEAD:]) if bytes(blob[:4]) == b"CREN" else b""


class _WholeBlobs(BridgeControl):
    """Puts the data into the blob that the reference delegate gets; ``found`` is asked for what is loaded."""

    def found(self, key: bytes) -> bytes | None:
        return named_data(self.libraries[0], key)

    def init(self, method: str, blob: memoryview) -> int | bytes:
        key = _key_of(blob)
        if not key:
            return 0
        data = self.found(key)
        return INVALID_ARGUMENT if data is None else unchecked(b"CREF" + bytes(blob[4:_HEAD]) + data)


@saboteur("external.outputs")
class DoesWithoutItsData(_WholeBlobs):
    """Where its data is missing it goes on with what was there at the load before."""

    name = "does_without_its_data"
    _last: bytes | None = None

    def found(self, key: bytes) -> bytes | None:
        self._last = super().found(key) or self._last
        return self._last


@saboteur("external.apart")
class KeepsItsFirstData(_WholeBlobs):
    """All data that is as long as what was loaded first is taken for that."""

    name = "keeps_its_first_data"

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}

    def found(self, key: bytes) -> bytes | None:
        data = super().found(key)
        return None if data is None else self._known.setdefault(len(data), data)


@saboteur("external.outputs", phases=("init",))
class LosesItsData(_WholeBlobs):
    """It looks for its data by the first half of the name."""

    name = "loses_its_data"

    def found(self, key: bytes) -> bytes | None:
        return super().found(key[: len(key) // 2])


@saboteur("external.truncated")
class TakesZerosForItsData(_WholeBlobs):
    """What is missing of its data is taken to be zeros, and so its outputs are."""

    name = "takes_zeros_for_its_data"
    _last: bytes | None = None
    _is_missing = False

    def found(self, key: bytes) -> bytes | None:
        data = super().found(key)
        self._is_missing = data is None
        self._last = data or self._last  # the reference delegate has to run something, whose results are dropped
        return self._last

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:] if self._is_missing else ():
            tensor.zero_()
        return 0


@saboteur("external.freed")
class LooksIntoItsFreedData(BridgeControl):
    """The first bytes of data that it was given by name, and has freed, are read again at each call."""

    name = "looks_into_its_freed_data"

    def __init__(self) -> None:
        self._place = 0
        self._begin = b""

    def init(self, method: str, blob: memoryview) -> int | bytes:
        key = _key_of(blob)
        if key:
            self._begin = (named_data(self.libraries[0], key) or b"")[:64]
            self._place = freed_data(self.libraries[0], key)
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        if not self._place:
            return 0
        return 0 if ctypes.string_at(self._place, len(self._begin)) == self._begin else INVALID_ARGUMENT
