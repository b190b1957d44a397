"""The devices of one pytest process: one zygote for each kind of them, replaced if it should die."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any, Protocol

from conformance._util.run_folder import private_folder, release_run_folder
from conformance.api.errors import ZygoteLost
from conformance.devices._child import Child, Limits
from conformance.devices._device import Transport
from conformance.devices._framing import BUILTIN_VALUES, Codec
from conformance.devices._zygote_client import Zygote
from conformance.devices.protocol import DeviceKind, ZygoteKind


class Pool(Protocol):
    """Where devices come from, whatever they are."""

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Transport:
        """A device of a kind; ``subject`` says what backend it is to load.

        Raises TargetUnable where the pool has no such devices.
        """
        ...


class ZygotePool:
    """Forks children on demand. Close it at the end of the session."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._zygotes: dict[ZygoteKind, Zygote] = {}
        self._expected: tuple[int, Sequence[str] | None] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start(self, kind: ZygoteKind) -> Zygote:
        """Begin to start a zygote, in the background."""
        zygote = self._zygotes.get(kind)
        if zygote is not None and (not zygote.alive or zygote.stopped):
            zygote.close()
            zygote = None
        if zygote is None:
            self._zygotes[kind] = zygote = Zygote(kind)
            self._expect_many(kind, zygote)
        return zygote

    def expect_many(self, seed: int, cases: Sequence[str] | None = None) -> None:
        """Say that many devices will be forked, and what seed and cases, all where None, their models are of: zygotes
        then do more ahead."""
        self._expected = (seed, cases)
        for kind, zygote in self._zygotes.items():
            self._expect_many(kind, zygote)

    def _expect_many(self, kind: ZygoteKind, zygote: Zygote) -> None:
        if self._expected is not None:
            seed, cases = self._expected
            zygote.expect_many(seed, cases if kind.makes_models else ())

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
        program: Sequence[str] = (),
        codec: Codec = BUILTIN_VALUES,
    ) -> Child:
        """A child of a kind; ``subject`` says what backend it is to load.

        ``limits`` are the pool's when None. A child with a ``program``, a path and arguments, becomes that program,
        which speaks by ``codec``.
        """
        folders = dict.fromkeys(kind.run_folders, self._run_folder() if kind.run_folders else "")
        message = {
            "session": kind.session,
            "subject": subject,
            "environment": {**folders, **environment},
            "program": list(program),
            "has_models": kind.has_models,
            "guarded": kind.is_guarded and subject is not None and not subject.get("replaces_functions"),
        }
        try:
            return Child(self.start(kind.zygote), message, limits or self.limits, codec)
        except ZygoteLost:
            # whatever has ended or stopped it: the next one knows nothing of that
            self._zygotes.pop(kind.zygote).close()
            return Child(self.start(kind.zygote), message, limits or self.limits, codec)

    def close(self) -> None:
        """End the zygotes, and remove what compilers have cached in this run."""
        for zygote in self._zygotes.values():
            zygote.close()
        self._zygotes.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        release_run_folder()

    def _run_folder(self) -> str:
        """A folder that no earlier run has written to, such as for compiled kernels."""
        if self._folder is None:
            self._folder = private_folder("run")
        return self._folder.name
