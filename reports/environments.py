"""Environments of their own for backends of vendors, each with the versions that its plugin's lock names.

A plugin whose folder has a ``requirements.lock`` gets a virtual environment over the one that runs this: torch, pytest
and the harness are the same for every backend, and what one vendor needs cannot get into the way of another.
"""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "build" / "environments"
LOCK = "requirements.lock"


@dataclasses.dataclass(frozen=True)
class Plugin:
    """A distribution of ``plugins/`` that brings backends, and wants an environment of its own."""

    folder: Path
    backends: tuple[str, ...]

    @property
    def lock(self) -> Path:
        """What its environment consists of beside ours: one requirement a line, with its version."""
        return self.folder / LOCK

    @property
    def environment(self) -> Path:
        """Where its environment is made."""
        return ENVIRONMENTS / self.folder.name

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return self.environment / "bin" / "python"

    @property
    def digest(self) -> str:
        """Of all that its environment is made of: another one means that it has to be made anew."""
        base = f"{sys.version} {sysconfig.get_path('purelib')}"
        content = [self.lock.read_bytes(), (self.folder / "pyproject.toml").read_bytes(), base.encode()]
        return hashlib.sha256(b"\0".join(content)).hexdigest()


def plugins(folder: Path = ROOT / "plugins") -> Iterator[Plugin]:
    """The plugins that have a lock, by name."""
    for lock in sorted(folder.glob(f"*/{LOCK}")):
        project = tomllib.loads((lock.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        yield Plugin(lock.parent, tuple(project["entry-points"]["conformance_backends"]))


def prepare(plugin: Plugin) -> None:
    """Make the environment of a plugin, unless it is there; raises CalledProcessError where pip fails."""
    stamp = plugin.environment / "digest"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == plugin.digest:
        return
    venv.create(plugin.environment, clear=True)
    _stand_on_ours(plugin)
    # All that is needed is in the lock: a vendor's own requirements may ask for another torch.
    _pip(plugin, "--no-deps", "--requirement", str(plugin.lock))
    _pip(plugin, "--no-deps", "--editable", str(plugin.folder))
    stamp.write_text(plugin.digest, encoding="utf-8")


def _stand_on_ours(plugin: Plugin) -> None:
    """Let the environment see what is installed beside this interpreter, behind what it has itself."""
    ours = sysconfig.get_path("purelib")
    theirs = sysconfig.get_path("purelib", vars={"base": str(plugin.environment)})
    Path(theirs, "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n", encoding="utf-8")


def _pip(plugin: Plugin, *arguments: str) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(plugin.python)]
    subprocess.run([*pip, "install", "--quiet", "--disable-pip-version-check", *arguments], check=True)
