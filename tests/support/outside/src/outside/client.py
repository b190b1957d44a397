"""What clauses see of a device."""

from __future__ import annotations

from typing import Any

from conformance.api.case import Call
from conformance.toolchains import case_named
from conformance.toolchains.client import CellDevice, PreparedCase


class PostfixDevice(CellDevice):
    """A device that compiles and runs programs."""

    def compile(self, program: PreparedCase | str) -> int:
        """Compile a case's program, or a text; the number of what came of it."""
        if isinstance(program, PreparedCase):
            program = case_named(program.name, "postfix").module_class.text
        number: int = self.call("compile", phase="lower", text=program)
        return number

    def run(self, function: int, inputs: tuple[Any, ...]) -> float:
        """What a compiled program gives for these numbers."""
        result: float = self.call("run", function=function, inputs=inputs)
        return result

    def board(self) -> str:
        """Where the device is."""
        name: str = self.call("board", phase="inspect")
        return name

    @staticmethod
    def _call_of(row: dict[str, Any]) -> Call:
        return Call(row["method"], tuple(row["inputs"]), row["expected"])
