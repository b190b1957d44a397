"""What of the process that made an artifact is found in it."""

from __future__ import annotations

import base64
import io
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from conformance.toolchains.torchscript.assertions import traces_of
from conformance.toolchains.torchscript.client import Artifact

LONG = b" and as much more as it takes to be a program that somebody packed as text"


def traces(content: bytes, pid: int = 54321) -> dict[str, bool]:
    """Whether a path, and the id of a process, are found in an artifact with that content."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    found = traces_of({"pid": pid, "folders": ["/var/lib/somewhere"]}, Artifact(data.getvalue(), "full"))
    return {kind: bool(listed) for kind, listed in found.items()}


@pytest.mark.parametrize("pid", [54321, 400_000])
@pytest.mark.parametrize("write", [str, hex, lambda pid: f"{pid:08X}", lambda pid: f"by {pid}, today"])
def test_the_id_of_a_process_is_found_as_text(pid: int, write: object) -> None:
    assert callable(write)
    assert traces(write(pid).encode(), pid) == {"a path": False, "the id": True}


@pytest.mark.parametrize("pid", [54321, 400_000])
@pytest.mark.parametrize("write", [lambda pid: pickle.dumps({"pid": pid}, 2), lambda pid: struct.pack("<q", pid)])
def test_the_id_of_a_process_is_found_as_a_number(pid: int, write: object) -> None:
    assert callable(write)
    assert traces(write(pid), pid)["the id"]


@pytest.mark.parametrize("content", [b"543210", b"154321", b"d431", b"a54321", struct.pack("<i", 54321)])
def test_another_number_is_none(content: bytes) -> None:
    assert not traces(content)["the id"]


def test_a_path_of_this_machine_is_found_wherever_it_stands(tmp_path: Path) -> None:
    scratch = f"{tmp_path}/kernel.ll".encode()  # what was there may be gone; where it was is not
    for content in (scratch, b"made of " + scratch + b";", base64.b64encode(scratch + LONG), b"in /var/lib/somewhere"):
        assert traces(content)["a path"], content


@pytest.mark.parametrize(
    "content",
    [
        b"/no such/folder",
        b"/surely_nothing/here/at_all",
        b"/usr/lib/libm.so",
        b"a/relative/tmp/path",
        b"https://x.org/tmp/y",
    ],
)
def test_what_is_no_path_of_this_machine_is_none(content: bytes) -> None:
    assert not traces(content)["a path"]
