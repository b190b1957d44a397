"""Messages on a socket: eight bytes of length, then builtin values as execnet serialises them.

execnet's serialiser carries only builtin types and executes nothing, so that a process whose memory a backend has
corrupted can at worst send garbage, which is an error here.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

import execnet

_LENGTH = struct.Struct("!Q")
_LONGEST = 2**34


def frame(message: Any) -> bytes:
    """``message`` as bytes, length first."""
    data: bytes = execnet.dumps(message)
    return _LENGTH.pack(len(data)) + data


def unframe(data: bytearray) -> Any | None:
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
    return execnet.loads(bytes(data[_LENGTH.size : _LENGTH.size + length]))


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
