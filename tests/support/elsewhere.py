"""What tests of targets elsewhere share: another installation, with a backend that goes wrong there, and devices."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from conformance.devices import Limits
from conformance.targets import published_spec
from conformance.targets.remote import RemotePool
from conformance.toolchains import Source, toolchain_named
from support.installations import installation
from support.places import REPOSITORY

BACKEND = """
    import os, signal, time
    from pathlib import Path
    from conformance import TorchScriptBackend

    class Plugin(TorchScriptBackend):
        name = "bad"

        def load(self):
            how = os.environ.get("BAD")
            if how == "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            if how == "hang":
                while True:
                    pass
            if how == "flood":
                while True:
                    os.write(1, b"x" * 65536)
            if how == "sever":
                stat = Path(f"/proc/{os.getppid()}/stat").read_text()
                os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
            if how == "leave path":
                raise RuntimeError(os.environ.get("PYTHONPATH", "no PYTHONPATH") + " " + os.getcwd())
"""


def other_installation(folder: Path) -> Path:
    """A Python with the harness, the reference backend and the backend "bad"."""
    modules = folder / "modules"
    modules.mkdir()
    (modules / "plugin_bad.py").write_text(textwrap.dedent(BACKEND))
    paths = (REPOSITORY / "plugins" / "reference" / "src", modules)
    return installation(folder / "python", "torch-conformance", paths=paths)


class Far:
    """Devices with the backend "bad" in another installation."""

    def __init__(self, spec: str) -> None:
        self.pool = RemotePool(spec, published_spec(spec), Limits(seconds=2.0, output_bytes=2**20))

    def register(self, **environment: str) -> Any:
        """Load the backend in a fresh process there."""
        source = Source("bad", value="plugin_bad:Plugin")
        subject = {each: getattr(source, each) for each in source.__slots__} | {"libraries": []}
        child = self.pool.fork(toolchain_named("torchscript").device("target"), subject, dict(environment))
        child.ask("register", {})
        try:
            return child.answer("register")
        finally:
            child.end()


def files_that_name(folder: Path, *secrets: str) -> list[str]:
    """The files below a folder that have one of these texts in them, with the text."""
    found = []
    for file in folder.rglob("*"):
        text = file.read_text(errors="replace") if file.is_file() else ""
        found += [f"{file.name}: {secret}" for secret in secrets if secret in text]
    return found
