# mypy: disable-error-code="operator, no-any-return"
# (TorchScript reads the comments of the model below as type comments.)
"""Targets without Python: their verdicts are those of local ones, they are watched, and they say what they lack."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.project import Project, Run
from torch_conformance_reference import library_path
from torch_conformance_saboteurs.build import build

from conformance._util.compiling import Compilation, CompileError, compiled
from conformance.api.case import Call
from conformance.api.errors import HarnessError, TargetUnable
from conformance.compare.values import decode, encode
from conformance.devices import Ledger, Limits, ZygotePool
from conformance.targets.native import NativePool, _expect_start
from conformance.toolchains import toolchain_named
from conformance.toolchains.shared_objects import is_of_python, is_of_pytorch, unwanted_libraries
from conformance.toolchains.torchscript.client import Artifact, Step, TorchScriptDevice
from conformance.toolchains.torchscript.native import MESSAGES

#: Cells of each suite that has targets, and of each kind of verb that a native target answers or does not.
PART = (
    "test_inflatable or test_types or test_lost or test_impossible_target or (test_spec and save_load) or test_growth"
    " or (test_inference and linear-lite)"
)

#: Saboteurs that keep the contract where Python is, and the clauses of inference that find them elsewhere.
WRONG_WITHOUT_PYTHON = {
    "native_refuses_inference_mode": {"inference.guards": "Cannot set version_counter for inference tensor"},
    "native_leaks_after_failure": {
        "inference.no-grad-leak": "the modes of the thread under none after a run that failed"
    },
    "native_runs_where_it_was_loaded": {"inference.threads": "no context is current in this thread"},
    "native_carries_modes_to_threads": {"inference.thread-local": "the modes of fresh threads, started under none"},
}

KIND = toolchain_named("torchscript").device("native")

needs_compiler = pytest.mark.skipif(
    shutil.which((os.environ.get("CXX") or "g++").split()[0]) is None,
    reason="no C++ compiler is installed here, and CXX names none: no native target can be built",
)


@pytest.mark.parts
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
    assert len(messages) == len(wanted) > 25
    assert native.report("reference")["target"]["spec"] == "native"
    assert local.report("reference")["target"]["spec"] == "local"


@pytest.mark.parts
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
@pytest.mark.parametrize("target", ["native", "local"])
def test_inference_is_judged_natively(project: Project, target: str) -> None:
    backends = [f"--backend={name}" for name in WRONG_WITHOUT_PYTHON]
    clauses = "(test_guards or test_no_grad_leak or test_threads or test_thread_local)"
    run = project.run(*backends, f"--conformance-target={target}", "-k", f"test_inference and add-full and {clauses}")
    for name, expected in WRONG_WITHOUT_PYTHON.items():
        rows = run.report(name)["cells"]
        assert len(rows) == 4
        failing = {row["clause"]: row for row in rows if row["verdict"] != "PASS"}
        assert set(failing) == (set(expected) if target == "native" else set()), name
        for clause, row in failing.items():
            assert (row["verdict"], row["phase"]) == ("FAIL", "run")
            assert expected[clause] in row["message"] + row.get("error", {}).get("text", "")


class Picky(torch.nn.Module):
    """Takes what is greater than zero, and gives what requires grad if that does."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("factor", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool((x <= 0).any()):
            raise ValueError("expected what is greater than zero")
        return x * self.factor


@pytest.fixture(scope="module")
def devices() -> Iterator[tuple[TorchScriptDevice, TorchScriptDevice]]:
    """A device with Python, and one without; neither has a backend."""
    pool = ZygotePool(Limits())
    made = [
        TorchScriptDevice("target", functools.partial(each.fork, KIND, None, {}), Ledger())
        for each in (pool, NativePool(pool))
    ]
    yield made[0], made[1]
    for device in made:
        device.end()
    pool.close()


@needs_compiler
@pytest.mark.filterwarnings("ignore:Lite Interpreter is deprecated")
@pytest.mark.parametrize("runtime", ["full", "lite"])
def test_the_verbs_of_inference_answer_as_in_python(
    devices: tuple[TorchScriptDevice, TorchScriptDevice], runtime: str
) -> None:
    picky = torch.jit.script(Picky())
    data = picky.save_to_buffer() if runtime == "full" else picky._save_to_buffer_for_lite_interpreter()
    artifact, damaged = Artifact(data, runtime), Artifact(b"no archive", runtime)
    good, bad = ("forward", (torch.ones(2),)), ("forward", (torch.zeros(2),))
    calls = [Call(*good, expected=None), Call(*bad, expected=None)]

    def answers(device: TorchScriptDevice) -> dict[str, Any]:
        module = device.load_under("inference_mode", artifact)
        ordinary = device.load_under("none", artifact)
        threads = device.run_in_threads([module, ordinary], calls, threads=3, guard="inference_mode")
        found: dict[str, Any] = {
            "modes": device.modes(),
            "errors in threads": threads.errors,
            "results in threads": [[each.tolist() for each in results] for results in threads.results],
            "modes in threads": threads.modes,
            "damaged": [text.partition(":")[0] for text in device.load_in_threads(damaged, calls[0]).errors],
        }
        for guard in ("none", "no_grad", "inference_mode"):
            steps = [Step(call=good), Step(damaged), Step(artifact), Step(call=good), Step(call=bad)]
            found[guard] = device.modes_under(guard, steps)
            result = device.run_under(guard, ordinary, *good, differentiable=True)
            found[f"{guard}, a result"] = (result.tolist(), result.requires_grad)
        return found

    with_python, without = map(answers, devices)
    assert without == with_python
    assert without["errors in threads"][0].startswith("Error: ")
    assert without["modes in threads"] == [{"grad mode": True, "inference mode": False}]
    assert without["no_grad"] == [{"grad mode": False, "inference mode": False}] * 6
    assert without["inference_mode"] == [{"grad mode": False, "inference mode": True}] * 6
    assert [without[f"{guard}, a result"][1] for guard in ("none", "no_grad")] == [True, False]


@needs_compiler
def test_a_guard_that_is_none_is_named(devices: tuple[TorchScriptDevice, TorchScriptDevice]) -> None:
    with pytest.raises(HarnessError, match="expected the guard no_grad, inference_mode or none, found 'no_guard'"):
        devices[1].modes_under("no_guard", [])


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


def test_what_is_no_command_is_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.cpp").touch()
    wanted = Compilation("program", tmp_path, "main.cpp", ())
    monkeypatch.setenv("CXX", "g++ '")
    with pytest.raises(CompileError, match="the environment variable CXX is no command"):
        compiled(wanted, tmp_path / "cache")
    monkeypatch.setenv("CXX", " ")
    assert wanted.command(tmp_path)[0] == "g++"


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
        with pytest.raises(ValueError, match=r"no message|a value that cannot be read"):
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
    needed = unwanted_libraries(str(library))
    assert f"libmine.so needs {bridge.name}" in needed
    assert f"libmine.so needs {bridge.name} needs libtorch_python.so" in needed
    assert unwanted_libraries(str(tmp_path / "nothing.cpp")) == []
    assert unwanted_libraries(str(library_path())) == []


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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("libtorch.so", True),
        ("/usr/lib/libtorch_cpu.so.2", True),
        ("libc10.so", True),
        ("libtorchaudio.so", False),
        ("libexecutorch.so", False),
        ("libc.so.6", False),
    ],
)
def test_libraries_of_pytorch_are_known_by_their_names(name: str, expected: bool) -> None:
    assert is_of_pytorch(name) == expected


@needs_compiler
def test_a_source_that_does_not_compile_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance._util.compiling import Compilation, compiled

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


def test_a_cache_that_cannot_be_written_is_told_once_and_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda _: tmp_path / "cache")
    local = ZygotePool(Limits())
    native = NativePool(local)
    for _ in range(2):
        with pytest.raises(TargetUnable, match=r"no native target: native_target cannot be kept in .*Not a directory"):
            native.fork(KIND, None, {})
        monkeypatch.undo()  # what was found wrong is remembered
    local.close()


@pytest.mark.parametrize(
    ("text", "why"),
    [("no program", "Exec format error"), ("#!/bin/sh\nsleep 60\n", "it did not end within 0.2 s")],
    ids=["no-program", "hangs"],
)
def test_a_program_that_cannot_be_started_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    program = tmp_path / "program"
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setattr("conformance.targets.native._START_SECONDS", 0.2)
    with pytest.raises(CompileError, match=f"cannot be started: {why}"):
        _expect_start(program)
