"""Saboteurs: what fails now and then, so that one run of a cell tells nothing of the next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle
from torch_conformance_saboteurs.sabotage_process import Steps
from torch_conformance_saboteurs.sabotage_tools import Listing, replaced

saboteur = Listing()

#: A folder that all processes share; the temporary folder of a device is its own.
_SHARED = Path("/var/tmp")


class EveryOtherProcess(Steps):
    """A backend that does one thing in a process, another in the next, and so on by turns.

    Turns are taken among the children of one parent: workers that run side by side do not disturb each other. A file
    that outlives a device stands for "it was the first one's turn"; the second takes it away.
    """

    _turn: bool | None = None

    def is_first(self) -> bool:
        """Whether it is the first one's turn; the same answer for as long as the process lives."""
        cls = type(self)
        if cls._turn is None:
            name = f"torch-conformance-{cls.__qualname__.split('.')[0]}-{os.getuid()}-{os.getppid()}"
            mark = _SHARED / name
            try:
                mark.touch(exist_ok=False)
                cls._turn = True
            except FileExistsError:
                mark.unlink()
                cls._turn = False
        return cls._turn


@saboteur("lowering.outputs", verdicts=("FLAKY",))
class WrongEveryOtherProcess(PythonControl):
    name = "wrong_every_other_process"

    class implementation(EveryOtherProcess):
        """One is added to every element of floating point that execute gives, in every other process."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            if not self.is_first():
                return result
            return replaced(result, torch.Tensor, lambda tensor: tensor + 1 if tensor.is_floating_point() else tensor)


@saboteur("lowering.outputs", verdicts=("FLAKY",))
class FailsByTurns(PythonControl):
    name = "fails_by_turns"

    class implementation(EveryOtherProcess):
        """Execute aborts in one process, and raises an exception in the next."""

        def at_execute(self) -> None:
            if self.is_first():
                os.abort()
            raise RuntimeError("it is not my turn")


SABOTEURS = saboteur.all()
