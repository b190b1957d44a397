"""The devices of one pytest process: one zygote for each toolchain, replaced if it should die."""

from __future__ import annotations

import tempfile
from typing import Any

from conformance.devices._child import Child, Limits
from conformance.devices._zygote_client import Zygote


class ZygotePool:
    """Forks children on demand. Close it at the end of the session."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._zygotes: dict[str, Zygote] = {}
        self._caches: tempfile.TemporaryDirectory[str] | None = None

    def start(self, toolchain: str = "torchscript") -> Zygote:
        """Begin to start the zygote of a toolchain, in the background."""
        zygote = self._zygotes.get(toolchain)
        if zygote is None or not zygote.alive:
            self._zygotes[toolchain] = zygote = Zygote(toolchain)
        return zygote

    def fork(
        self,
        toolchain: str,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
        *,
        zygote: str = "",
    ) -> Child:
        """A child in which verbs of ``toolchain`` can be called; ``subject`` says what backend it is to load.

        ``limits`` are the pool's when None; ``zygote`` is the toolchain whose zygote forks it, where that is another.
        """
        zygote = zygote or toolchain
        if zygote == "dynamo":
            environment = {"TORCHINDUCTOR_CACHE_DIR": self._cache_folder(), **environment}
        message = {"toolchain": toolchain, "subject": subject, "environment": environment}
        return Child(self.start(zygote), message, limits or self.limits)

    def close(self) -> None:
        """End the zygotes, and remove what compilers have cached in this run."""
        for zygote in self._zygotes.values():
            zygote.close()
        self._zygotes.clear()
        if self._caches is not None:
            self._caches.cleanup()
            self._caches = None

    def _cache_folder(self) -> str:
        """A folder for compiled kernels that no earlier run has written to."""
        if self._caches is None:
            self._caches = tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True)
        return self._caches.name
