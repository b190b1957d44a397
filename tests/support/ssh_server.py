"""An ssh server of the tests' own: on the loopback, for one key, gone when the tests are."""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

#: Where Debian has it, which is not on everybody's path.
SSHD = shutil.which("sshd", path=os.defpath + ":/usr/sbin:/usr/local/sbin")
#: The name under which the configuration of the client has it.
ALIAS = "far-machine"


@dataclasses.dataclass(frozen=True)
class Server:
    """A running server. ``key`` is let in, ``known`` holds the key of the host, ``config`` says both of ``ALIAS``."""

    port: int
    user: str
    key: Path
    known: Path
    config: Path

    def command(self, key: Path | None = None, known: Path | None = None) -> str:
        """What stands after ``ssh=``: every setting on the command line, and none of this machine's own."""
        return (
            f"-F none -p {self.port} -i {key or self.key} -o IdentitiesOnly=yes"
            f" -o UserKnownHostsFile={known or self.known} {self.user}@127.0.0.1"
        )


@contextlib.contextmanager
def ssh_server(folder: Path) -> Iterator[Server]:
    """A server whose files lie in ``folder``; sshd must be installed."""
    assert SSHD is not None
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants it of root, and only the system's own start makes it
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "key.pub", folder / "authorized")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(port, getpass.getuser(), folder / "key", folder / "known", folder / "config")
    server.known.write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    server.config.write_text(
        f"Host {ALIAS}\n  HostName 127.0.0.1\n  Port {port}\n  User {server.user}\n  IdentityFile {server.key}\n"
        f"  IdentitiesOnly yes\n  UserKnownHostsFile {server.known}\n"
    )
    # StrictModes: the folders of tests lie in one that anybody may write to.
    settings = (
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nAuthorizedKeysFile {folder / 'authorized'}\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    )
    (folder / "sshd_config").write_text(settings)
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
    try:
        _wait_for(port, process, folder / "log")
        yield server
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"sshd did not start: {log.read_text()}")
