"""What the devices of every toolchain have in common for the cell that they serve."""

from __future__ import annotations

from typing import Any

from conformance.api.case import Call
from conformance.compare.values import decode
from conformance.devices import Device


class CellDevice(Device):
    """A device for one cell. Its subclass for a toolchain has a method for each verb, typed, on plain values."""

    #: The cell's runtime: one of those that its clause names.
    runtime = ""

    def samples(self, case: str, seed: int) -> tuple[Call, ...]:
        """The sample calls of a case, with what eager PyTorch gives for them here."""
        rows = self.call("samples", case=case, seed=seed)
        return tuple(self._call_of(row) for row in rows)

    @staticmethod
    def _call_of(row: dict[str, Any]) -> Call:
        return Call(row["method"], decode(row["inputs"]), decode(row["expected"]))


class PreparedCase:
    """A case with the cell's seed, and what eager PyTorch gives for its samples (computed at first use)."""

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
        return tuple(call for call in self.calls if call.method == method)
