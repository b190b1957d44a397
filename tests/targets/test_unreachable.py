"""Targets that cannot be reached: one error, in time, says what was found and what to do, and no address in public."""

from __future__ import annotations

import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.devices import Limits
from conformance.targets import gateway, published_spec
from conformance.targets.gateway import Unreachable
from conformance.targets.remote import RemotePool
from conformance.toolchains import default_toolchain


def refusal(spec: str) -> Unreachable:
    """Why there is no target; an error of one line, and so is what is published of it."""
    pool = RemotePool(spec, published_spec(spec), Limits())
    with pytest.raises(Unreachable) as error:
        pool.connect()
    pool.close()
    assert "\n" not in str(error.value)
    with pytest.raises(Unreachable) as published:
        pool.fork(default_toolchain().device("target"), None, {})
    assert str(published.value) == error.value.public
    return error.value


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections, and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def mute(tmp_path: Path) -> Path:
    """A "Python" that reads what it is sent, and does nothing."""
    return script(tmp_path / "mute", "import sys; sys.stdin.read()")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("spec", ["socket=127.0.0.1:{port}", "ssh=-F none -p {port} 127.0.0.1", "popen//python={mute}"])
def test_silence_is_not_waited_for(
    spec: str, silent: int, mute: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if spec.startswith("ssh") and shutil.which("ssh") is None:
        pytest.skip("no ssh client is installed")
    monkeypatch.setattr(gateway, "_CONNECT_SECONDS", 0.3)
    error = refusal(spec.format(port=silent, mute=mute))
    assert "nothing came back within 0.3 s. " in error.public
    assert capfd.readouterr().err == ""


def test_a_socket_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    error = refusal(f"socket=127.0.0.1:{free}")
    assert "the target cannot be reached by socket: nothing listens at that address. Start the server" in error.public
    assert "Connection refused" in str(error)


def test_a_socket_of_another_protocol() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b"SSH-2.0-Anything\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        error = refusal(f"socket=127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert (
        "what listens there is no socket server of execnet. Start `python -m execnet.script.socketserver"
        in error.public
    )


def test_a_python_that_ends_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ended = script(tmp_path / "ended", "import sys; sys.exit('no licence on somehost')")
    error = refusal(f"popen//python={ended}")
    assert "cannot be reached by popen: it ended before Python answered. Try by hand" in error.public
    assert str(error).endswith("What was said: no licence on somehost")
    assert "somehost" not in error.public
    assert capfd.readouterr().err == ""


def test_a_python_that_something_else_speaks_for(tmp_path: Path) -> None:
    chatty = script(tmp_path / "chatty", "import sys; print('Welcome!', flush=True); sys.stdin.read()")
    assert "something other than Python wrote to its standard output first" in refusal(f"popen//python={chatty}").public


def test_a_folder_that_is_not_there() -> None:
    error = refusal("popen//chdir=/no/such/folder")
    assert "what //chdir=, //nice= or //env: asks for cannot be had there" in error.public
    assert str(error).endswith("No such file or directory: '/no/such/folder'")


def test_there_is_no_ssh_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refusal("ssh=somebody@example.org")
    assert "cannot be reached by ssh: there is no ssh (of OpenSSH) here. Install it" in error.public


def test_what_ssh_itself_refuses(tmp_path: Path) -> None:
    if shutil.which("ssh") is None:
        pytest.skip("no ssh client is installed")
    error = refusal(f"ssh=somewhere//ssh_config={tmp_path / 'missing'}")
    assert "ssh does not take these options" in error.public
    assert str(tmp_path) in str(error)
    assert "ssh does not take these options" in refusal("ssh=-F none -o Nonsense=1 somewhere").public
