"""The sample calls of cases, with what eager PyTorch gives for them: computed once in a run, while others work."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from conformance.api.case import Call
from conformance.api.errors import DeviceBroken, DeviceEnded, GarbledValue, HarnessError, SubjectError
from conformance.toolchains.client import CellDevice

_FAILURES = (DeviceBroken, DeviceEnded, SubjectError, GarbledValue)


@dataclasses.dataclass
class Samples:
    """The samples of one toolchain's cases, by one process without a backend, which ``start`` makes.

    The process serves all cases, one after the other. It lives beside backends, which may harm it: what fails in it is
    tried once more in a fresh one.
    """

    start: Callable[[], CellDevice]
    seed: int
    _known: dict[str, tuple[Call, ...] | HarnessError] = dataclasses.field(default_factory=dict)
    _device: CellDevice | None = None
    #: The case that the process is at work on, and what waits for its samples.
    _begun: tuple[str, Callable[[], tuple[Call, ...]]] | None = None

    def begin(self, case: str) -> None:
        """Let the process begin with a case, unless it is at work on another: its samples will be asked for soon. Where
        there is none yet it is made, and not waited for."""
        if self._device is None:
            self._device = self.start()
            self._device.start()
        elif case not in self._known and self._begun is None:
            with contextlib.suppress(*_FAILURES):  # the next that asks is told
                self._ask(case)

    def calls(self, case: str) -> tuple[Call, ...]:
        """The sample calls of a case. Raises HarnessError where PyTorch cannot make them: no backend was at work."""
        if case not in self._known:
            with contextlib.suppress(*_FAILURES):
                self._take()
        if case not in self._known:
            self._known[case] = self._made(case)
        found = self._known[case]
        if isinstance(found, HarnessError):
            raise found
        return found

    def close(self) -> None:
        """End the process."""
        if self._device is not None:
            self._device.end()
        self._device = self._begun = None

    def _made(self, case: str) -> tuple[Call, ...] | HarnessError:
        """The samples of a case, by the process that there is, or by a fresh one if that fails; else the error."""
        fresh = self._device is None
        try:
            self._ask(case)
            self._take()
        except _FAILURES as error:
            if not fresh:
                return self._made(case)
            return HarnessError(f"PyTorch without a backend cannot make the samples of {case!r}: {error}")
        return self._known[case]

    def _ask(self, case: str) -> None:
        self._device = self._device or self.start()
        with self._ending():
            self._begun = case, self._device.begin_samples(case, self.seed)

    def _take(self) -> None:
        """Wait for the samples that the process was asked for, if it was."""
        if self._begun is None:
            return
        case, answer = self._begun
        with self._ending():
            self._known[case] = answer()
        self._begun = None

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """A block behind whose failure there is no process: the next case gets a fresh one."""
        try:
            yield
        except (*_FAILURES, HarnessError):
            self.close()
            raise
