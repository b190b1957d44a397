"""What clauses of every toolchain see of a device and of a case."""

# mypy: disable-error-code="empty-body"
# A method that declares a verb has no body.

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from conformance.api.case import Call
from conformance.api.errors import GarbledValue
from conformance.compare.values import decode
from conformance.devices import Device
from conformance.toolchains.declarations import Value, ask, declaration_of


@dataclasses.dataclass(frozen=True, slots=True)
class PyTorchChanges:
    """What a process has changed in PyTorch itself: ``changes``, a sentence for each thing by its name; ``imported``,
    the modules of PyTorch that were imported since; and ``later``, what these contain, by name."""

    changes: dict[str, str]
    imported: list[str]
    later: dict[str, str]


class CellDevice(Device):
    """A device for one cell. Its subclass for a toolchain has a method for each verb, typed, on plain values."""

    #: The cell's runtime: one of those that its clause names.
    runtime = ""

    def samples(self, case: str, seed: int) -> tuple[Call, ...]:
        """The sample calls of a case, with what eager PyTorch gives for them here."""
        return self.begin_samples(case, seed)()

    def begin_samples(self, case: str, seed: int) -> Callable[[], tuple[Call, ...]]:
        """Ask for :meth:`samples`, and let the device work: what is returned waits for them."""
        declared = declaration_of(self._samples)
        phase, arguments = declared.message(self, case, seed)
        self.ask(declared.verb, phase, **arguments)
        return lambda: tuple(map(self.sample_call, declared.read(self.answer(), self.last_reply)))

    @ask()
    def _samples(self, case: str, seed: int) -> list[dict[str, Any]]: ...

    @staticmethod
    def sample_call(row: dict[str, Any]) -> Call:
        """The call in a row of the reply to ``samples``. A toolchain whose rows have more in them overrides it."""
        return Call(row["method"], decode(row["inputs"]), decode(row["expected"]))

    @ask(phase="inspect")
    def pytorch_changes(self, imports: list[str]) -> PyTorchChanges:
        """What of PyTorch itself has changed in the process since it began, before the backend was loaded; modules of
        PyTorch in ``imports`` are imported first."""

    @ask()
    def switch(self, environment: dict[str, str | None]) -> None:
        """Change environment variables of the running process; one whose value is None is removed."""


#: For each call the different results that it gave.
Results = list[list[Value]]


@dataclasses.dataclass(frozen=True, slots=True)
class Threads:
    """The results of calls in several threads at once.

    ``results`` has the different results of each call; ``modes`` the different modes that a fresh thread had before its
    work and after it; ``errors`` what was raised, each text once. Raises GarbledValue where a call has no result, and
    nothing was raised: there would be nothing to look at.
    """

    results: Results
    modes: list[dict[str, bool]]
    errors: list[str]

    def __post_init__(self) -> None:
        missing = [number for number, results in enumerate(self.results) if not results]
        if missing and not self.errors:
            raise GarbledValue(f"no thread has a result of the calls {missing}, and none has raised anything")

    def __len__(self) -> int:
        """The number of calls."""
        return len(self.results)


class PreparedCase:
    """A case with the run's seed, and the results of eager PyTorch for its samples, which are computed at first use."""

    def __init__(self, name: str, seed: int, methods: tuple[str, ...], samples: Any) -> None:
        self.name = name
        self.seed = seed
        self.methods = methods
        self._samples = samples

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every sample call of every method, with the result of eager PyTorch."""
        calls: tuple[Call, ...] = self._samples()
        return calls

    @property
    def call(self) -> Call:
        """The first of them."""
        return self.calls[0]

    def calls_of(self, method: str) -> tuple[Call, ...]:
        """The sample calls of one method."""
        return tuple(call for call in self.calls if call.method == method)
