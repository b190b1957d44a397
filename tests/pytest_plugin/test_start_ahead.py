"""A run begins to start the process that its devices come from before it imports torch, which takes both a while."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.discovery.names import discovered_by
from conformance.toolchains import default_toolchain, toolchain_named

#: A run that says what zygotes it starts, and whether torch was there.
_PROGRAM = """
import sys
import pytest
from conformance.devices import ZygotePool
started = ZygotePool.start
def start(pool, kind):
    print("started", kind.name, "torch" in sys.modules)
    return started(pool, kind)
ZygotePool.start = start
sys.exit(pytest.main(sys.argv[1:]))
"""


def _started(folder: Path, *arguments: str) -> tuple[int, list[list[str]]]:
    """The exit code of a run, and in the order of their starts the zygotes, each with whether torch was imported."""
    command = [sys.executable, "-c", _PROGRAM, "-p", "no:cacheprovider", "-q", "-k", "no_such_cell", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("started ")]
    return done.returncode, [words[1:] for words in lines]


def test_the_zygote_starts_while_this_process_imports_torch(tmp_path: Path) -> None:
    code, started = _started(tmp_path, "--backend=reference")
    assert code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert started[0] == [default_toolchain().zygote("host").name, "False"]
    assert {name for name, _ in started} == {started[0][0]}  # it is the one that is used


def test_a_wrong_option_leaves_none_behind(tmp_path: Path) -> None:
    code, started = _started(tmp_path, "--backend=reference", "--conformance-target=none-such")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert len(started) == 1  # and its pipe is closed: the run would wait for it


def test_what_is_not_known_is_not_guessed() -> None:
    assert discovered_by("reference") == [toolchain_named("torchscript").zygote("host")]
    assert discovered_by("nobody-has-this") == []
