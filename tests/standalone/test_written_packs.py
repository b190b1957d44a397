"""A pack is written as a whole or not at all, and its script refuses what it cannot do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.descriptions import ANY_BACKEND

from conformance.standalone import packs
from conformance.standalone.packs import _write
from conformance.standalone.packs._write import _script as script_text
from conformance.standalone.packs._write import packed_clauses


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_that_no_request_can_have_is_refused(seconds: str, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(script_text(ANY_BACKEND, "0" * 64, set()))
    done = subprocess.run(
        [sys.executable, str(script), f"--timeout={seconds}"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    assert f"argument --timeout: a positive number of seconds up to 1000000 is taken, found '{seconds}'" in done.stderr


def written(folder: Path, say: Callable[[str], None] = lambda clause: None) -> int:
    """Write a pack without cells."""
    return packs.write_pack(None, 0, ANY_BACKEND, folder, packed_clauses()[:1], say)  # type: ignore[arg-type]


def test_a_pack_is_there_once_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(clause: str) -> None:
        assert list(tmp_path.iterdir())
        raise KeyboardInterrupt

    def write_some(path: Path, data: bytes) -> int:
        if path.name == "run.py":
            raise OSError(28, "No space left on device")
        return write_bytes(path, data)

    monkeypatch.setattr(_write, "cells_of", lambda clause, description: [])
    write_bytes = Path.write_bytes
    with pytest.raises(KeyboardInterrupt):
        written(tmp_path / "pack", interrupt)
    assert not list(tmp_path.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write_some)
        with pytest.raises(packs.PackError, match="the pack cannot be written: No space left on device"):
            written(tmp_path / "pack")
    assert not list(tmp_path.iterdir())
    written(tmp_path / "some/pack")
    assert {each.name for each in (tmp_path / "some/pack").iterdir()} == {"host.json", "pack.json", "run.py", "values"}
    assert [each.name for each in (tmp_path / "some").iterdir()] == ["pack"]
    for folder, why in ((tmp_path / "some", "File exists"), (tmp_path / ("x" * 300), "File name too long")):
        with pytest.raises(packs.PackError, match=f"a pack needs a new folder, and .* cannot be made: {why}"):
            written(folder)
