"""Targets elsewhere: another installation, reached through execnet, gives the verdicts of a local target."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import execnet
import pytest
from support.elsewhere import Far, files_that_name, other_installation
from support.installations import installation
from support.project import Project, Run

from conformance._util.processes import MOST_CROWDED
from conformance.api.errors import (
    DeviceBroken,
    DeviceDied,
    DeviceFlooded,
    DeviceTimeout,
    HarnessError,
    MachineTooSlow,
    SubjectError,
    TargetUnable,
    ZygoteLost,
)
from conformance.devices import Limits
from conformance.targets import TargetError, published_spec
from conformance.targets.far import _FarSide
from conformance.targets.remote import RemotePool, _RemoteChild, _value_of
from conformance.toolchains import default_toolchain

PART = "(test_types and (add or strings)) or test_lost or (test_spec and save_load) or test_unknown or test_growth"


@pytest.fixture(scope="session")
def far(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The Python of another installation, and the folder that it is to work in."""
    folder = tmp_path_factory.mktemp("far")
    return other_installation(folder), folder / "work"


@pytest.fixture
def spec(far: tuple[Path, Path]) -> str:
    python, work = far
    return f"popen//python={python}//chdir={work}"


@pytest.fixture(scope="session")
def far_run(far: tuple[Path, Path], shared_run: Callable[..., Run]) -> Run:
    """A part of the contract with its targets elsewhere."""
    python, work = far
    return shared_run("--backend=reference", "-k", PART, f"--conformance-target=popen//python={python}//chdir={work}")


@pytest.mark.parts
def test_the_verdicts_are_those_of_a_local_target(far_run: Run, shared_run: Callable[..., Run]) -> None:
    assert far_run.exit_code == 0, far_run.output
    local = shared_run("--backend=reference", "-k", PART).verdicts("reference")
    assert far_run.verdicts("reference") == local
    assert len(local) > 8
    assert {verdict for verdict, _ in local.values()} == {"PASS"}


def test_a_report_tells_the_kind_of_target_and_not_its_address(far_run: Run, far: tuple[Path, Path]) -> None:
    target = far_run.report("reference")["target"]
    assert target["spec"] == "popen"
    assert target["torch"] == metadata.version("torch")
    assert {"python", "platform", "backends"} <= set(target)
    assert "--conformance-target=popen" in far_run.report("reference")["run"]["argv"]
    assert files_that_name(far_run.folder / "conformance-report", str(far[1].parent)) == []


def test_the_other_installation_is_not_this_one(far: tuple[Path, Path]) -> None:
    missing = "import importlib.util as u; print([n for n in ('mypy', 'justhtml') if u.find_spec(n)])"
    done = subprocess.run([str(far[0]), "-c", missing], env={}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("ssh=somebody@example.org//python=/opt/python", "ssh"),
        ("socket=192.0.2.1:8888", "socket"),
        ("popen", "popen"),
        ("ssh=-p 2222 -i key somebody@example.org//ssh_config=/etc/far//chdir=work//nice=5//env:A=b", "ssh"),
        ("native", "native"),
    ],
)
def test_only_the_kind_of_a_spec_is_published(spec: str, kind: str) -> None:
    assert published_spec(spec) == kind


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("", ""),
        ("//", ""),
        ("_x=1", ""),
        ("ssh=a//ssh=b", "duplicate key: 'ssh'"),
        ("moon", "expected one of ssh, vagrant_ssh, socket, popen, found none"),
        ("python=/opt/python", "found none"),
        ("ssh=a//popen", "found ssh and popen"),
        ("ssh", "ssh= needs a value"),
        ("ssh= //python=python3", "ssh= needs a value"),
        ("popen//python=", "python= needs a value"),
        (
            "popen//pythn=/opt/python",
            "popen takes chdir, dont_write_bytecode, nice, python and env:NAME, found 'pythn'",
        ),
        ("popen//via=gw0", "found 'via'"),
        ("popen//nice=very", "nice= takes a whole number"),
        ("socket=host//python=/opt/python", "socket takes chdir, nice and env:NAME, found 'python'"),
        ("socket=host", "socket= takes HOST:PORT"),
        ("socket=host:http", "socket= takes HOST:PORT"),
        ("socket=host:65536", "socket= takes HOST:PORT"),
        ("socket=::1:80", "no address of IPv6"),
    ],
)
def test_what_is_no_spec_is_explained(spec: str, why: str) -> None:
    with pytest.raises(TargetError, match=rf"is no target \(.*{re.escape(why)}.*\)\. There is: 'local'"):
        published_spec(spec)


@pytest.fixture(scope="module")
def devices(far: tuple[Path, Path]) -> Iterator[Far]:
    devices = Far(f"popen//python={far[0]}//chdir={far[1]}")
    yield devices
    devices.pool.close()


def test_how_a_process_there_ended_is_told_here(devices: Far) -> None:
    with pytest.raises(DeviceDied) as died:
        devices.register(BAD="crash")
    assert died.value.signal == "SIGSEGV"
    assert "plugin_bad.py" in died.value.stack
    with pytest.raises(DeviceTimeout, match="register did not come back within 2 s") as hung:
        devices.register(BAD="hang")
    assert "plugin_bad.py" in hung.value.stack
    with pytest.raises(DeviceFlooded, match="more than 1 MiB of output"):
        devices.register(BAD="flood")
    assert devices.register().raised is None


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (DeviceBroken("no descriptors"), DeviceBroken),
        (MachineTooSlow("it did not answer"), MachineTooSlow),
        (HarnessError("no device"), HarnessError),
        (ZygoteLost("ended"), HarnessError),
        (ValueError("no device"), HarnessError),
        (DeviceTimeout("exit", 2.0, stack="main"), DeviceTimeout),
        (SubjectError("exit", "E", ("Exception",), "I stay"), SubjectError),
        (TargetUnable("leave"), TargetUnable),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_what_is_raised_there_is_raised_here(there: Exception, here: type[Exception]) -> None:
    """What fails in a process without memory or descriptors is its backend's, wherever that is."""

    def leave(phase: str) -> bool:
        raise there

    far: Any = _FarSide()
    far._children[1] = SimpleNamespace(leave=leave)
    message = execnet.loads(execnet.dumps(far.answer("leave", {"device": 1, "phase": "exit"})))
    with pytest.raises(here, match=re.escape(str(there))) as raised:
        _value_of(message)
    assert type(raised.value) is here
    if not isinstance(there, HarnessError | ValueError):
        assert vars(raised.value) == vars(there)


def test_a_busy_target_is_waited_for_as_long_as_it_may_take() -> None:
    waited = []

    def request(operation: str, patience: float, **arguments: Any) -> Any:
        waited.append(patience)
        return {"value": None, "raised": None, "seconds": 0.0, "warnings": [], "stdout": "", "stderr": ""}

    connection: Any = SimpleNamespace(request=request)
    child = _RemoteChild(connection, 1, Limits(seconds=60.0))
    child.answer("run")
    child.answer("run", 600.0)
    child.leave("exit")
    assert waited == [60.0 * MOST_CROWDED, 600.0 * MOST_CROWDED, 60.0 * MOST_CROWDED]


def test_neither_path_nor_folder_of_this_process_reaches_there(
    devices: Far, far: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "of-this-process")
    devices.pool.close()
    raised = devices.register(BAD="leave path").raised
    assert raised["text"] == f"no PYTHONPATH {far[1]}"
    assert os.environ["PYTHONPATH"] == "of-this-process"


def test_a_lost_connection_charges_nobody_and_is_made_again(devices: Far) -> None:
    with pytest.raises(HarnessError, match="the connection to the target was lost, which says nothing of the backend"):
        devices.register(BAD="sever")
    assert devices.register().raised is None


def test_what_cannot_be_reached_again_is_said_without_its_address() -> None:
    pool = RemotePool("popen//python=/no/such/python", "popen", Limits())
    for _ in range(5):
        with pytest.raises(HarnessError, match="the Python that was asked for cannot be started") as error:
            pool.fork(default_toolchain().device("target"), None, {})
        assert "/no/such/python" not in str(error.value)


def test_a_backend_that_is_not_there_is_said_before_anything_runs(project: Project, spec: str) -> None:
    project.install("mine", "from torch_conformance_reference.backend import ReferenceBackend as Plugin")
    run = project.run("--backend=mine", f"--conformance-target={spec}")
    assert run.exit_code == 4
    assert "the backend 'mine' cannot be used on the target: import raised ModuleNotFoundError" in run.output
    assert "Install plugin_mine for the Python there" in run.output.replace("\n", " ")
    assert not (project.folder / "conformance-report").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no torch; install it there"),
        (
            {"torch-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n"},
            "no torch-conformance",
        ),
        (
            {
                "torch-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n",
                "conformance/__init__.py": "__version__ = '0.0.1'\n",
            },
            "has torch-conformance 0.0.1, and here it is",
        ),
    ],
)
def test_what_is_missing_there_is_one_sentence(tmp_path: Path, files: dict[str, str], message: str) -> None:
    python = installation(tmp_path / "python")
    (site,) = tmp_path.glob("python/lib/python*/site-packages")
    for name, text in files.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text)
    with pytest.raises(HarnessError, match=message) as error:
        RemotePool(f"popen//python={python}//chdir={tmp_path / 'work'}", "popen", Limits()).connect()
    assert "\n" not in str(error.value)


def test_a_library_goes_over_as_bytes(project: Project, spec: str) -> None:
    from torch_conformance_reference import library_path

    selection = "(save_load and test_ways and add) or (test_unknown and save_load)"
    run = project.run(f"--conformance-library={library_path()}", f"--conformance-target={spec}", "-k", selection)
    assert run.exit_code == 0, run.output
    report = run.report("reference")
    assert report["summary"]["verdicts"] == {"PASS": 2}
    assert json.dumps(report["target"]).count("reference") == 1
