"""Saboteurs: one module is right, and goes wrong beside another in the same process; or as another lowering of it."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.jit._recursive import wrap_cpp_module

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.archive import module_from_bytes, module_to_bytes
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


class _Noise(PythonBackend):
    """Weights are off at random when a module is lowered, by up to a :attr:`share` of each."""

    share = 0.0

    def weights(self, module: torch._C.ScriptModule) -> torch._C.ScriptModule:
        copied = module_from_bytes(module_to_bytes(module))
        generator = torch.Generator().manual_seed(int.from_bytes(os.urandom(6)))
        wrapped = wrap_cpp_module(copied)
        for parameter in wrapped.parameters():
            parameter.data *= 1.0 + self.share * torch.randint(-1, 2, parameter.shape, generator=generator)
        return copied


@saboteur("lowering.deterministic", verdicts=(REPORTED,))
class AddsNoise(PythonControl):
    name = "adds_noise"

    class implementation(_Noise):
        """Weights are rounded at random, within the tolerance, when a module is lowered."""

        share = 1e-7


@saboteur("lowering.deterministic")
class AddsMuchNoise(PythonControl):
    name = "adds_much_noise"

    class implementation(_Noise):
        """Weights are off at random, by up to a tenth, when a module is lowered."""

        share = 0.1


SABOTEURS = saboteur.all()
