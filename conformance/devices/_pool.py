"""The devices of one pytest process: one zygote, replaced if it should die."""

from __future__ import annotations

from typing import Any

from conformance.devices._child import Child, Limits
from conformance.devices._zygote_client import Zygote


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
    ) -> Child:
        """A child in which verbs of ``toolchain`` can be called; ``subject`` says what backend it is to load.

        ``limits`` are the pool's when None.
        """
        self.start()
        assert self._zygote is not None
        message = {"toolchain": toolchain, "subject": subject, "environment": environment}
        return Child(self._zygote, message, limits or self.limits)

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
