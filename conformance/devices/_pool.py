"""The devices of one pytest process: one zygote for each toolchain, replaced if it should die."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any, Protocol

from conformance.devices._child import Child, Limits
from conformance.devices._device import Transport
from conformance.devices._framing import BUILTIN_VALUES, Codec
from conformance.devices._zygote_client import Zygote


class Pool(Protocol):
    """Where devices come from, whatever they are."""

    def fork(
        self,
        toolchain: str,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Transport:
        """A device in which verbs of ``toolchain`` can be called; ``subject`` says what backend it is to load.

        Raises TargetUnable where the pool has no such devices.
        """
        ...


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
        program: Sequence[str] = (),
        codec: Codec = BUILTIN_VALUES,
        zygote: str = "",
    ) -> Child:
        """A child in which verbs of ``toolchain`` can be called; ``subject`` says what backend it is to load.

        ``limits`` are the pool's when None. A child with a ``program``, a path and arguments, becomes that program,
        which speaks by ``codec``. ``zygote`` is the toolchain whose zygote forks it, where that is another.
        """
        zygote = zygote or toolchain
        if zygote == "dynamo":
            environment = {"TORCHINDUCTOR_CACHE_DIR": self._cache_folder(), **environment}
        message = {"toolchain": toolchain, "subject": subject, "environment": environment, "program": list(program)}
        return Child(self.start(zygote), message, limits or self.limits, codec)

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
