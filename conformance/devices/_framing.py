"""Messages on a socket: eight bytes of length, then builtin values as a codec serialises them.

execnet's serialiser, the codec of every device that is Python, carries only builtin types and executes nothing, so that
a process whose memory a backend has corrupted can at worst send garbage, which is an error here.
"""

from __future__ import annotations

import dataclasses
import socket
import struct
from collections.abc import Callable
from typing import Any

import execnet

_LENGTH = struct.Struct("!Q")
_LONGEST = 2**34


@dataclasses.dataclass(frozen=True, slots=True)
class Codec:
    """A message as bytes, and back. ``loads`` executes nothing, and raises ValueError or execnet.DataFormatError for
    bytes that are no message."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]


BUILTIN_VALUES = Codec(execnet.dumps, execnet.loads)


def frame(message: Any, codec: Codec = BUILTIN_VALUES) -> bytes:
    """``message`` as bytes, length first."""
    data = codec.dumps(message)
    return _LENGTH.pack(len(data)) + data


def unframe(data: bytearray, codec: Codec = BUILTIN_VALUES) -> Any | None:
    """The first whole message in ``data``, or None while it is not complete.

    Raises ValueError or execnet.DataFormatError for bytes that are no message.
    """
    if len(data) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(data)
    if length > _LONGEST:
        raise ValueError(f"a message of {length} bytes")
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
