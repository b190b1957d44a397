"""Artifacts changed from outside, as age and accidents change them."""

from __future__ import annotations

import contextlib
import io
import itertools
import pickle
import random
import re
import struct
import zipfile
from collections.abc import Callable, Iterator

from conformance.api.errors import GarbledValue

_OLD_SETSTATE = """\
  def __setstate__(self: {type},
    state: Tuple[Dict[str, Any], Any, bool]) -> NoneType:
    self.__method_compile_spec = (state)[0]
    self.__processed_module = (state)[1]
    _0 = (self).__create_backend()
    __backend = self.__backend
    __processed_module = self.__processed_module
    __method_compile_spec = self.__method_compile_spec
    _1 = (__backend).compile(__processed_module, __method_compile_spec, )
    self.__handles = _1
    return None
"""
_SETSTATE = re.compile(r"  def __setstate__\(self: (?P<type>[\w.]+),.*?(?=  def |\Z)", re.DOTALL)


def with_old_setstate(artifact: bytes) -> bytes:
    """The artifact with the ``__setstate__`` of releases before pytorch/pytorch#53068, which did not ask is_available.

    Raises GarbledValue when the artifact holds no lowered module.
    """
    changed = 0

    def rewrite(name: str, data: bytes) -> bytes:
        nonlocal changed
        if "LoweredModule" not in name or not name.endswith(".py"):
            return data
        with _reading(f"{name} is no text"):
            text, count = _SETSTATE.subn(lambda match: _OLD_SETSTATE.format(type=match["type"]), data.decode())
        changed += count
        return text.encode()

    older = rewritten(artifact, rewrite)
    if not changed:
        raise GarbledValue("the artifact holds no __setstate__ of a lowered module")
    return older


def records(artifact: bytes) -> dict[str, bytes]:
    """The archive's records by name. Raises GarbledValue for what is no archive: a device gave it for one."""
    with _reading("an artifact that is no archive"), zipfile.ZipFile(io.BytesIO(artifact)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@contextlib.contextmanager
def _reading(what: str) -> Iterator[None]:
    """A block that reads bytes which a device gave, and raises nothing but GarbledValue: zipfile and pickle raise
    whatever comes of bytes that a damaged process sent."""
    try:
        yield
    except GarbledValue:
        raise
    except Exception as error:
        raise GarbledValue(f"{what}: {type(error).__name__}: {error}") from error


def without_source_positions(artifact: bytes) -> bytes:
    """The archive without the records in which PyTorch keeps the paths of the model's source files."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_STORED) as copy:
        for name, data in records(artifact).items():
            if not name.endswith(".debug_pkl"):
                copy.writestr(name, data)
    return result.getvalue()


def truncations(artifact: bytes, seed: int, count: int) -> list[tuple[str, bytes]]:
    """The artifact cut at ``count`` places, and what was done. Raises GarbledValue for one of no bytes."""
    if not artifact:
        raise GarbledValue("an artifact of no bytes")
    randomness = random.Random(seed)
    places = [randomness.randrange(len(artifact)) for _ in range(count)]
    return [(f"truncated to {at} of {len(artifact)} bytes", artifact[:at]) for at in places]


def flips(artifact: bytes, seed: int, count: int) -> list[tuple[str, bytes]]:
    """The artifact with one bit changed, at ``count`` places in the data of each of its records and as many in what
    lies between them, and what was done."""
    randomness = random.Random(seed)
    damaged = []
    for name, places in _stretches(artifact).items():
        for at in (randomness.choice(places) for _ in range(count)):
            bit = randomness.randrange(8)
            changed = artifact[:at] + bytes([artifact[at] ^ (1 << bit)]) + artifact[at + 1 :]
            damaged.append((f"bit {bit} of byte {at} flipped, in {name}", changed))
    return damaged


def _stretches(artifact: bytes) -> dict[str, range | list[int]]:
    """Where the data of each record lies in the archive, and all that is not data, as offsets."""
    stretches: dict[str, range | list[int]] = {}
    between = set(range(len(artifact)))
    with _reading("an artifact that is no archive"), zipfile.ZipFile(io.BytesIO(artifact)) as archive:
        for info in archive.infolist():
            name_length, extra_length = struct.unpack_from("<HH", artifact, info.header_offset + 26)
            start = info.header_offset + 30 + name_length + extra_length
            if info.compress_size:
                stretches[info.filename] = range(start, start + info.compress_size)
                between -= set(stretches[info.filename])
    return {**stretches, "the container": sorted(between)}


def rewritten(artifact: bytes, rewrite: Callable[[str, bytes], bytes]) -> bytes:
    """The archive with the content of each record replaced by ``rewrite(name, content)``; the names stay."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_STORED) as copy:
        for name, data in records(artifact).items():
            copy.writestr(name, rewrite(name, data))
    return result.getvalue()


def debug_handles(artifact: bytes) -> list[tuple[int, str]]:
    """Each debug handle that a lite artifact knows, with the operator of the node that it stands for.

    Raises GarbledValue for an artifact that was saved without debug information, and for a table that is none.
    """
    found = [data for name, data in records(artifact).items() if name.endswith("/callstack_debug_map.pkl")]
    if not found:
        raise GarbledValue("the artifact has no table of debug handles: it was saved without debug information")
    with _reading("a table of debug handles that is none"):
        return [(handle, operator) for handle, _, operator, _ in _DataOnly(io.BytesIO(found[0])).load()]


class _DataOnly(pickle.Unpickler):
    """Reads containers, numbers and texts, and refuses whatever would be called."""

    def find_class(self, module: str, name: str) -> None:
        raise ValueError(f"a table of debug handles holds no objects, found {module}.{name}")


def underlined_lines(text: str) -> list[str]:
    """The lines of a model that a source range, or a message with one, underlines (``~~~~ <--- HERE``)."""
    lines = text.splitlines()
    return [before.strip() for before, line in itertools.pairwise(lines) if "<--- HERE" in line]
