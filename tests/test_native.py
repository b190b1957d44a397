"""Targets without Python: their verdicts are those of local ones, they are watched, and they say what they lack."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import Project, Run
from torch_conformance_reference import library_path
from torch_conformance_saboteurs.build import build

from conformance.compiling import CompileError
from conformance.devices._native import MESSAGES
from conformance.shared_objects import is_of_python, needed_of_python
from conformance.values import decode, encode

#: Cells of each suite that has targets, and of each kind of verb that a native target answers or does not.
PART = (
    "test_inflatable or test_types or test_lost or test_impossible_target or (test_spec and save_load) or test_growth"
)

needs_compiler = pytest.mark.skipif(
    shutil.which((os.environ.get("CXX") or "g++").split()[0]) is None,
    reason="no C++ compiler is installed here, and CXX names none: no native target can be built",
)


@needs_compiler
def test_the_verdicts_are_those_of_a_local_target(shared_run: Callable[..., Run]) -> None:
    local = shared_run("--backend=reference", "-k", PART)
    native = shared_run("--backend=reference", "-k", PART, "--conformance-target=native")
    assert native.exit_code == 0, native.output
    wanted = local.verdicts("reference")
    messages = {row["id"]: row["message"] for row in native.report("reference")["cells"]}
    for cell, found in native.verdicts("reference").items():
        if cell.startswith("save-load.spec"):
            assert found == ("NOT_EXERCISED", "")
            assert messages[cell] == "the native target cannot answer 'read_spec'"
        else:
            assert found == wanted[cell], cell
    assert len(messages) == len(wanted) > 15
    assert native.report("reference")["target"]["spec"] == "native"
    assert local.report("reference")["target"]["spec"] == "local"


@needs_compiler
def test_what_a_cell_needed_is_told(shared_run: Callable[..., Run]) -> None:
    rows = shared_run("--backend=reference", "-k", PART, "--conformance-target=native").report("reference")["cells"]
    peaks = [row["peak_bytes"] for row in rows if row["verdict"] == "PASS"]
    assert min(peaks) > 10 * 2**20
    assert all({"load", "run"} <= set(row["seconds"]) for row in rows if row["clause"] == "lite.types")


@needs_compiler
@pytest.mark.parametrize(
    ("backend", "verdict", "message"),
    [
        ("native_crashes", "CRASH", "killed by SIGSEGV during run"),
        ("native_hangs", "TIMEOUT", "run did not come back within 3 s"),
    ],
)
def test_a_native_target_is_watched(project: Project, backend: str, verdict: str, message: str) -> None:
    selection = "test_native and test_outputs and add-full"
    run = project.run(f"--backend={backend}", "-k", selection, "--conformance-timeout=3")
    (row,) = run.report(backend)["cells"]
    assert (row["verdict"], row["phase"]) == (verdict, "run")
    assert message in row["message"]
    assert "libdelegates.so" in row["error"]["stack"], "the native stack at the end is missing"


@needs_compiler
def test_a_conforming_delegate_without_python_passes(project: Project) -> None:
    project.install("mine", "from torch_conformance_saboteurs.sabotage_native import NativeControl as Plugin")
    run = project.run("--backend=mine", "-k", "test_native and (add or two_methods)")
    assert run.exit_code == 0, run.output
    assert set(run.report("mine")["summary"]["verdicts"]) == {"PASS"}


def test_without_a_compiler_nothing_native_is_exercised(project: Project) -> None:
    arguments = (f"--conformance-library={library_path()}", "--conformance-target=native")
    run = project.run(
        *arguments, "-k", "(test_native and add and not unavailable) or test_ways", CXX="no-such-compiler"
    )
    assert run.exit_code == 0, run.output
    rows = run.report("reference")["cells"]
    assert len(rows) > 8
    for row in rows:
        assert row["verdict"] == "NOT_EXERCISED"
        assert row["message"].startswith("no native target: no C++ compiler: 'no-such-compiler' could not be started")


def test_a_backend_without_a_library_is_not_exercised(project: Project) -> None:
    run = project.run("--backend=python_control", "-k", "test_native and test_error")
    assert run.exit_code == 0, run.output
    for row in run.report("python_control")["cells"]:
        assert row["verdict"] == "NOT_EXERCISED"
        assert "has no library that a program without Python could load" in row["message"]


def test_an_unknown_target_is_explained(project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-target=moon")
    assert run.exit_code == 4
    assert "--conformance-target 'moon' is no target (expected one of ssh, " in run.output
    assert ", found none). There is: 'local', " in run.output


def test_messages_survive_as_torch_writes_them() -> None:
    message = {"number": 1, "arguments": {"data": b"\0\xff", "none": None, "empty": b"", "more": [b"x", "é", 2**40]}}
    assert MESSAGES.loads(MESSAGES.dumps(message)) == message
    for garbage in (b"", b"PK\3\4", MESSAGES.dumps(message)[:-40]):
        with pytest.raises(ValueError, match="no message"):
            MESSAGES.loads(garbage)


def test_whole_numbers_are_written_in_the_lengths_that_libtorch_reads() -> None:
    numbers = [0, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**40, 2**63 - 1, -(2**63)]
    assert decode(encode(numbers)) == numbers
    assert torch._C._jit_try_infer_type(decode(encode(numbers))).success()
    lengths = set(re.findall(rb"\x8a(.)", encode({"a": 2**40, "b": -(2**40)}), re.DOTALL))
    assert lengths == {b"\x08"}


@needs_compiler
def test_what_a_library_needs_is_followed(tmp_path: Path) -> None:
    bridge = build()
    (tmp_path / "nothing.cpp").write_text("")
    library = tmp_path / "libmine.so"
    linking = [f"-Wl,--no-as-needed,-rpath,{bridge.parent}", f"-L{bridge.parent}", f"-l:{bridge.name}"]
    compiler = (os.environ.get("CXX") or "g++").split()
    subprocess.run([*compiler, "-shared", "nothing.cpp", "-o", str(library), *linking], cwd=tmp_path, check=True)
    needed = needed_of_python(str(library))
    assert f"libmine.so needs {bridge.name}" in needed
    assert f"libmine.so needs {bridge.name} needs libtorch_python.so" in needed
    assert needed_of_python(str(tmp_path / "nothing.cpp")) == []
    assert needed_of_python(str(library_path())) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/usr/lib/libpython3.11.so.1.0", True),
        ("libtorch_python.so", True),
        ("_C.cpython-311-x86_64-linux-gnu.so", True),
        ("_ops.abi3.so", True),
        ("libtorch_cpu.so", False),
        ("libpythonic.so", False),
    ],
)
def test_parts_of_python_are_known_by_their_names(name: str, expected: bool) -> None:
    assert is_of_python(name) == expected


@needs_compiler
def test_a_source_that_does_not_compile_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance.compiling import Compilation, compiled

    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "main.cpp").write_text("this is no C++\n")
    with pytest.raises(CompileError, match=r"ended with 1 .*C\+\+20") as error:
        compiled(Compilation("program", sources, "main.cpp", ()), tmp_path)
    assert "main.cpp:1:" in str(error.value)
    (sources / "main.cpp").write_text("int main() {}\n")
    announced: list[bool] = []
    for _ in range(2):
        path = compiled(Compilation("program", sources, "main.cpp", ()), tmp_path, lambda: announced.append(True))
    assert path.is_file()
    assert len(announced) == 1, "what is in the cache is not compiled again"
