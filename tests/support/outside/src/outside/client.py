"""What clauses see of a device."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any

from conformance.api.case import Call
from conformance.toolchains import case_named
from conformance.toolchains.client import CellDevice, PreparedCase
from conformance.toolchains.declarations import Handle, ask


class Function(Handle):
    """A program that a device has compiled."""


class PostfixDevice(CellDevice):
    """A device that compiles and runs programs."""

    def compile(self, program: PreparedCase | str) -> Function:
        """Compile a case's program, or a text."""
        if isinstance(program, PreparedCase):
            program = case_named(program.name, "postfix").module_class.text
        return self._compile(program)

    @ask(phase="lower")
    def _compile(self, text: str) -> Function: ...

    @ask()
    def run(self, function: Function, inputs: tuple[Any, ...]) -> float:
        """What a compiled program gives for these numbers."""

    @ask(phase="inspect")
    def board(self) -> str:
        """Where the device is."""

    @staticmethod
    def sample_call(row: dict[str, Any]) -> Call:
        """The call in a row: numbers travel as they are."""
        return Call(row["method"], tuple(row["inputs"]), row["expected"])
