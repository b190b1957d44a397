"""What a run has where temporary files go: one folder, which the next run removes where its process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from conformance._util.run_folder import PREFIX, private_folder, release_run_folder, sweep

HOLDS = """
import sys
from conformance._util.run_folder import private_folder
folder = private_folder("device")
print(folder.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def holding(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a folder for a device, and that folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_removed_by_the_next(place: Path) -> None:
    process, folder = holding(place)
    (folder / "kernel.so").write_text("compiled")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert folder.is_dir()
    with private_folder("device") as mine:
        assert not folder.parent.exists()
        assert [Path(mine).parent] == list(place.iterdir())


def test_what_a_killed_worker_left_is_removed_by_who_outlives_it(place: Path) -> None:
    with private_folder("device"):
        killed, left = holding(place)
        living, kept = holding(place)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    release_run_folder()
    assert not left.parent.exists()
    assert list(place.iterdir()) == [kept.parent]
    living.send_signal(signal.SIGKILL)
    living.communicate()


def test_what_a_living_process_has_stays(place: Path) -> None:
    process, folder = holding(place)
    with private_folder("device"):
        assert folder.is_dir()
    assert sweep(place) == []
    process.communicate("")
    assert not folder.exists()


def test_what_is_not_ours_stays(place: Path) -> None:
    (place / "conformance-report").mkdir()
    (place / "elsewhere").mkdir()
    (place / f"{PREFIX}link").symlink_to(place / "elsewhere")
    (place / f"{PREFIX}file").touch()
    before = sorted(place.iterdir())
    assert sweep(place) == []
    assert sorted(place.iterdir()) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_what_somebody_else_has_stays(place: Path) -> None:
    theirs = place / f"{PREFIX}theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    assert sweep(place) == []
    assert theirs.is_dir()


def test_a_folder_that_was_removed_by_others_is_made_again(place: Path) -> None:
    with private_folder("device") as first:
        Path(first).rmdir()
        Path(first).parent.rmdir()
        with private_folder("device") as second:
            assert Path(second).is_dir()


def test_a_folder_that_another_sweeps_before_it_is_held_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, swept = tempfile.mkdtemp, list[Path]()

    def made_and_swept(*arguments: Any, **options: Any) -> str:
        path = made(*arguments, **options)
        if not swept:
            swept.extend(sweep(place))
        return str(path)

    monkeypatch.setattr("tempfile.mkdtemp", made_and_swept)
    with private_folder("device") as mine:
        assert Path(mine).is_dir()
    assert len(swept) == 1


def test_nothing_is_left_at_the_end(place: Path) -> None:
    with private_folder("device"):
        release_run_folder()
        assert len(list(place.iterdir())) == 1
    release_run_folder()
    assert not list(place.iterdir())
