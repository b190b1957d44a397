"""Targets reached by ssh, on a server of the tests' own, and by a socket server of execnet."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.elsewhere import Far, files_that_name, other_installation
from support.places import REPOSITORY
from support.project import Project, Run, wait_until
from support.ssh_server import ALIAS, SSHD, Server, ssh_server

from conformance.api.errors import DeviceDied, DeviceTimeout, HarnessError
from conformance.devices import Limits
from conformance.targets.gateway import Unreachable
from conformance.targets.remote import RemotePool

PART = "(test_availability and test_text) or (test_save_load and (test_spec or test_unknown))"
WHOLE = "test_save_load or test_availability"
needs_sshd = pytest.mark.skipif(SSHD is None, reason="no sshd is installed (apt-get install openssh-server)")


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of another installation."""
    return other_installation(tmp_path_factory.mktemp("ssh-far"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ssh_server(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(scope="session")
def spec(server: Server, python: Path) -> str:
    """Another installation, in another folder than the shell there begins in."""
    return f"ssh={server.command()}//python={python}//chdir={python.parents[2] / 'work'}"


@needs_sshd
def test_a_target_by_ssh_passes_as_a_local_one_does_and_is_not_told(
    spec: str, server: Server, python: Path, shared_run: Callable[..., Run]
) -> None:
    far = shared_run("--backend=reference", "-k", PART, "--conformance-target", spec)
    assert far.exit_code == 0, far.output
    assert set(far.verdicts("reference").values()) == {("PASS", "")}
    assert len(far.verdicts("reference")) > 6
    report = far.report("reference")
    assert report["target"]["spec"] == "ssh"
    assert report["run"]["argv"][-2:] == ["--conformance-target", "ssh"]
    secrets = (str(server.port), "127.0.0.1", f"{server.user}@", str(python.parents[2]), str(server.key))
    assert files_that_name(far.folder / "conformance-report", *secrets) == []


@needs_sshd
@pytest.mark.slow
def test_whole_suites_by_ssh_and_several_workers(spec: str, shared_run: Callable[..., Run]) -> None:
    far = shared_run("--backend=reference", "-n", "2", "-k", WHOLE, "--conformance-target", spec)
    assert far.exit_code == 0, far.output
    local = shared_run("--backend=reference", "-k", WHOLE).verdicts("reference")
    assert far.verdicts("reference") == local
    assert len(local) > 100


@needs_sshd
def test_the_configuration_of_ssh_can_say_it_all(server: Server, python: Path) -> None:
    devices = Far(f"ssh={ALIAS}//ssh_config={server.config}//python={python}")
    try:
        assert devices.register().raised is None
    finally:
        devices.pool.close()


@needs_sshd
def test_how_a_process_there_ended_and_a_lost_connection_are_told_here(spec: str) -> None:
    devices = Far(spec)
    try:
        with pytest.raises(DeviceDied) as died:
            devices.register(BAD="crash")
        assert died.value.signal == "SIGSEGV"
        with pytest.raises(DeviceTimeout, match="register did not come back within 2 s"):
            devices.register(BAD="hang")
        with pytest.raises(HarnessError, match="the connection to the target was lost"):
            devices.register(BAD="sever")
        assert devices.register().raised is None
    finally:
        devices.pool.close()


@needs_sshd
@pytest.mark.parametrize(
    ("change", "what", "said"),
    [
        ("//python=/no/such/python", "the Python that was asked for cannot be started", "/no/such/python"),
        ("//python=echo hello; python3", "something other than Python wrote to its standard output first", ""),
        ("//python=exit 3; python3", "it ended before Python answered", ""),
        ("//python={python}//chdir=/no/such/folder", "what //chdir=, //nice= or //env: asks for", "/no/such/folder"),
        ("known", "the key of the host is not known here, or is another", "Host key verification failed"),
        ("key", "the host lets nobody in with these keys", "Permission denied"),
        ("port", "nothing listens at that address", "Connection refused"),
        ("host", "no host of that name is known here", "no-such-host.invalid"),
    ],
)
def test_why_there_is_no_target(
    server: Server, python: Path, tmp_path: Path, change: str, what: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    other_key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other_key)], check=True)
    commands = {
        "known": server.command(known=tmp_path / "none"),
        "key": server.command(key=other_key),
        "port": server.command().replace(f"-p {server.port}", "-p 1"),
        "host": "-F none no-such-host.invalid",
    }
    spec = f"ssh={commands[change]}" if change in commands else f"ssh={server.command()}{change.format(python=python)}"
    pool = RemotePool(spec, "ssh", Limits())
    with pytest.raises(Unreachable) as error:
        pool.connect()
    assert f"the target cannot be reached by ssh: {what}" in error.value.public
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    for secret in (server.user + "@", "127.0.0.1", "no-such", str(tmp_path)):
        assert secret not in error.value.public
    assert capfd.readouterr().err == ""


@needs_sshd
def test_nothing_is_asked_on_a_terminal(server: Server, tmp_path: Path) -> None:
    """ssh would ask whether to trust the key of the host, and wait for whoever sits there."""
    program = (
        "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "from conformance.targets.gateway import connected; connected(sys.argv[1], 'ssh')"
    )
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", program, f"ssh={server.command(known=tmp_path / 'none')}"]
    try:
        done = subprocess.run(
            command, stdin=theirs, start_new_session=True, stderr=subprocess.PIPE, text=True, check=False, timeout=30
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "the key of the host is not known here, or is another" in done.stderr


@needs_sshd
@pytest.mark.slow
def test_a_refusal_is_a_usage_error_before_anything_runs(server: Server, project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-target", f"ssh={server.command()}//python=/no/such/python")
    assert run.exit_code == 4
    assert "ERROR: --conformance-target: the target cannot be reached by ssh: the Python that" in run.output
    assert "Traceback" not in run.output
    assert not (project.folder / "conformance-report").exists()


@needs_sshd
@pytest.mark.slow
def test_who_is_killed_here_leaves_nothing_there(spec: str, python: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from support.elsewhere import Far; far = Far(sys.argv[1]); far.register();"
        "print('there', flush=True); far.register(BAD='hang')"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests")}
    near = subprocess.Popen([sys.executable, "-c", program, spec], env=environment, stdout=subprocess.PIPE)
    assert near.stdout is not None
    with near, near.stdout as said:
        assert said.readline() == b"there\n"
        assert _processes_of(python)
        near.send_signal(signal.SIGKILL)
    wait_until(lambda: not _processes_of(python))


def _processes_of(python: Path) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
            if line.startswith(str(python)):
                found.append(f"{folder.name} {line}")
    return found


@contextlib.contextmanager
def socket_server(python: Path) -> Iterator[str]:
    """The address of a socket server of execnet with another Python."""
    command = [str(python), "-u", "-m", "execnet.script.socketserver", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().rpartition(",")[2].strip(" )\n")
        yield f"127.0.0.1:{port}"
        process.kill()


@pytest.mark.runs
def test_a_socket_server_serves_one_run_after_another(python: Path) -> None:
    with socket_server(python) as address:
        for _ in range(2):
            devices = Far(f"socket={address}")
            assert devices.register().raised is None
            devices.pool.close()


@pytest.mark.slow
def test_the_verdicts_by_socket_are_those_of_a_local_target(python: Path, shared_run: Callable[..., Run]) -> None:
    local = shared_run("--backend=reference", "-k", PART).verdicts("reference")
    with socket_server(python) as address:
        far = shared_run("--backend=reference", "-k", PART, f"--conformance-target=socket={address}")
        assert far.exit_code == 0, far.output
        assert far.verdicts("reference") == local
        assert files_that_name(far.folder / "conformance-report", address, "127.0.0.1") == []
        assert far.report("reference")["target"]["spec"] == "socket"


@pytest.mark.slow
def test_a_socket_server_is_not_for_several_workers(project: Project) -> None:
    run = project.run("--backend=reference", "-n", "2", "--conformance-target=socket=127.0.0.1:1")
    assert run.exit_code == 4
    assert "a socket server serves one connection, and each worker of pytest-xdist makes one" in run.output
