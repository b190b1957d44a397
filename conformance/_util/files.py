"""Files that come from elsewhere, and files that must be whole: reading within bounds, writing as a whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

_LONGEST_NAME = 100
_PLAIN_NAME = re.compile(rf"[A-Za-z0-9_][\w.+=,@-]{{0,{_LONGEST_NAME - 1}}}", re.ASCII)


def read_bounded(path: Path, most: int) -> bytes:
    """The content of a regular file of ``most`` bytes at most.

    Raises OSError, whose ``strerror`` says why, for a larger file, and for what is no file: a directory, a device, or a
    pipe, which nobody waits for. (ValueError, as ``open`` does, for a path with a null character in it.)
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is a device, a pipe or a socket, not a file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {_size(most)}", str(path))
    return content


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Replace a file as a whole: a reader sees the former content or the new one, never a half.

    A link stays one: what it leads to is replaced. Raises OSError, and leaves all as it was, for what cannot be written
    or is there and no file, such as ``/dev/null``; UnicodeEncodeError for a text with lone surrogates.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path = Path(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "there is something that is not a file", str(path))
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".torch-conformance.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Make a file that is not there yet, readable for nobody else from its first moment when ``mode`` says so.

    Raises FileExistsError, and leaves what is there, where something is.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        raise


def _size(count: int) -> str:
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count // 2**10} KiB"


def file_name(name: str) -> str:
    """A name that may be anybody's as that of one file: the same where it is a plain one, else with its digest, so that
    two names never share a file. It has no separator, begins with a letter, a digit or _, and is short enough.
    """
    if _PLAIN_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', name[:_LONGEST_NAME]).strip('-') or 'name'}-{digest}"


def sha256_of(path: Path) -> str:
    """The digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
