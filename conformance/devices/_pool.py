"""The devices of one pytest process: one zygote, replaced if it should die."""

from __future__ import annotations

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
        self._zygote: Zygote | None = None

    def start(self) -> None:
        """Begin to start the zygote, in the background."""
        if self._zygote is None or not self._zygote.alive:
            self._zygote = Zygote()

    def fork(
        self,
        toolchain: str,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
        program: Sequence[str] = (),
        codec: Codec = BUILTIN_VALUES,
    ) -> Child:
        """A child in which verbs of ``toolchain`` can be called; ``subject`` says what backend it is to load.

        ``limits`` are the pool's when None. A child with a ``program``, a path and arguments, becomes that program,
        which speaks by ``codec``.
        """
        self.start()
        assert self._zygote is not None
        message = {"toolchain": toolchain, "subject": subject, "environment": environment, "program": list(program)}
        return Child(self._zygote, message, limits or self.limits, codec)

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
