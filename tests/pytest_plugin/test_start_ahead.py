"""A run begins to start the process that its devices come from before it imports torch, which takes both a while."""

from __future__ import annotations

import os
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


#: A plugin that notes what zygotes a worker of pytest-xdist starts, and whether torch was there.
_NOTING = """
import os, sys
from pathlib import Path
from conformance.devices import ZygotePool
started = ZygotePool.start
def start(pool, kind):
    with Path(__file__).with_name("started").open("a") as file:
        print(os.environ.get("PYTEST_XDIST_WORKER"), kind.name, "torch" in sys.modules, file=file)
    return started(pool, kind)
ZygotePool.start = start
"""


@pytest.mark.parts
@pytest.mark.parametrize(("backend", "toolchain"), [("reference", "torchscript"), ("eager", "dynamo")])
def test_so_does_that_of_a_worker(tmp_path: Path, backend: str, toolchain: str) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "noting.py").write_text(_NOTING)
    options = ["-p", "noting", "-n", "1", "-k", "no_such_cell", f"--backend={backend}", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "pytest", *options], cwd=tmp_path, env=environment, capture_output=True)
    lines = [line.split() for line in (tmp_path / "started").read_text().splitlines()]
    first = next(words for words in lines if words[0] == "gw0")
    assert first[1:] == [toolchain_named(toolchain).zygote("host").name, "False"]


def test_a_wrong_option_leaves_none_behind(tmp_path: Path) -> None:
    code, started = _started(tmp_path, "--backend=reference", "--conformance-expectations=none-such.toml")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert len(started) == 1  # and its pipe is closed: the run would wait for it


def test_an_option_that_makes_no_sense_starts_none(tmp_path: Path) -> None:
    code, started = _started(tmp_path, "--backend=reference", "--conformance-target=none-such")
    assert (code, started) == (pytest.ExitCode.USAGE_ERROR, [])


def test_what_is_not_known_is_not_guessed() -> None:
    assert discovered_by("reference") == [toolchain_named("torchscript").zygote("host")]
    assert discovered_by("nobody-has-this") == []
