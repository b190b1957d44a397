"""Messages on a socket: eight bytes of length, then builtin values as a codec serialises them.

execnet's serialiser, the codec of every device that is Python, carries only builtin types and executes nothing, so that
a process whose memory a backend has corrupted can at worst send garbage, which is an error here.
"""

from __future__ import annotations

import dataclasses
import io
import socket
import struct
from collections.abc import Callable
from typing import Any

import execnet
from execnet import gateway_base

_LENGTH = struct.Struct("!Q")
#: What is longer is no answer of any verb, but a length that something else wrote, or a device that never stops.
_LONGEST = 2**28


@dataclasses.dataclass(frozen=True, slots=True)
class Codec:
    """A message as bytes, and back. ``loads`` executes nothing, and raises ValueError for bytes that are no message."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]


class _Reader(gateway_base.Unserializer):
    """Reads a message; no list of it may be longer than the whole of it could fill."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self._room = len(data)

    def load_newlist(self) -> None:
        length = self._read_int4()
        self._room -= length
        if length < 0 or self._room < 0:
            raise execnet.LoadError(f"a list of {length} items in a message that has no room for them")
        self.stack.append([None] * length)

    num2func: Any = {
        **gateway_base.Unserializer.num2func,
        gateway_base.opcode.NEWLIST: load_newlist,
    }


def _loads(data: bytes) -> Any:
    try:
        return _Reader(data).load(versioned=True)
    except Exception as error:  # whatever its unserializer makes of bytes that a damaged process sent
        raise ValueError(f"no message: {type(error).__name__}: {error}") from error


BUILTIN_VALUES = Codec(execnet.dumps, _loads)


def frame(message: Any, codec: Codec = BUILTIN_VALUES) -> bytes:
    """``message`` as bytes, length first."""
    data = codec.dumps(message)
    return _LENGTH.pack(len(data)) + data


def unframe(data: bytearray, codec: Codec = BUILTIN_VALUES) -> Any | None:
    """The first whole message in ``data``, or None while it is not complete.

    Raises ValueError for bytes that are no message, or the beginning of one that is too long.
    """
    if len(data) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(data)
    if length > _LONGEST:
        raise ValueError(f"a message of {length} bytes, where {_LONGEST} are the most")
    if len(data) < _LENGTH.size + length:
        return None
    return codec.loads(bytes(data[_LENGTH.size : _LENGTH.size + length]))


def receive(connection: socket.socket) -> Any | None:
    """The next message, waiting for it; None when the other end has closed."""
    data = bytearray()
    while True:
        message = unframe(data)
        if message is not None:
            return message
        chunk = connection.recv(1 << 20)
        if not chunk:
            return None
        data += chunk
