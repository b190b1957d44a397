"""Saboteurs: one module is right, and goes wrong beside another in the same process."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("lowering.several-models")
class SharesResultsMemory(PythonControl):
    name = "shares_results_memory"

    class implementation(PythonBackend):
        """A result lies where the last result of another module lay, if that had the same dtype and sizes."""

        last: ClassVar[tuple[Any, Any]] = (None, None)

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            owner, former = self.last
            if owner is not handle and _kind(former) == _kind(result) is not None:
                result = former.copy_(result)
            type(self).last = handle, result
            return result


def _kind(value: Any) -> Any:
    return (value.dtype, value.shape) if isinstance(value, Tensor) else None


@saboteur("lowering.several-models", "save-load.several-models")
class CachesProgramsByLength(PythonControl):
    name = "caches_programs_by_length"

    class implementation(PythonBackend):
        """A program that is as long as one that was loaded before is taken for that one; twins are as long."""

        known: ClassVar[dict[tuple[str, ...], torch._C.ScriptModule]] = {}

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            key = (*record.debug_handles, str(len(record.program) // 64))
            if key not in self.known:
                self.known[key] = super().load_program(record)
            return self.known[key]


@saboteur("save-load.several-models")
class HasRoomForThreePrograms(PythonControl):
    name = "has_room_for_three_programs"

    class implementation(PythonBackend):
        """There is room for three programs: a fourth takes the place of the first, which runs it from then on."""

        places: ClassVar[list[Any]] = []
        loaded: ClassVar[int] = 0

        def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
            place = self.loaded % 3
            if len(self.places) <= place:
                self.places.append(None)
            self.places[place] = program._get_method(method)
            type(self).loaded += 1
            self.place = place
            return super().handle_of(record, program, method)

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            with torch.no_grad():
                return self.places[self.place](*inputs)


SABOTEURS = saboteur.all()
