"""Saboteurs: programs in tensors, programs that modules share, and what a load leaves in memory."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

import torch
from torch import Tensor

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_damage import parameters_of
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


class TrustsBytes(PythonBackend):
    """The program lies in a tensor of bytes, and nothing tells when one of them was altered."""

    def pack(self, record: Record) -> Any:
        program = base64.b64decode(super().pack(record).partition("\n")[2])
        return torch.frombuffer(bytearray(program), dtype=torch.uint8).clone()

    def verify(self, processed: Any) -> str:
        return base64.b64encode(bytes(processed.tolist())).decode("ascii")


@saboteur("save-load.damaged", "lite.damaged")
class TrustsATensor(PythonControl):
    name = "trusts_a_tensor"
    implementation = TrustsBytes


@saboteur("save-load.damaged", "lite.damaged", verdicts=("FAIL", "TIMEOUT"), phases=("run", "load"))
class TrustsATensorInADictionary(PythonControl):
    name = "trusts_a_tensor_in_a_dictionary"

    class implementation(TrustsBytes):
        """The program lies in a tensor, among other things, and nothing tells when one of its bytes was altered."""

        def pack(self, record: Record) -> Any:
            return {"blob": super().pack(record)}

        def verify(self, processed: Any) -> str:
            return super().verify(processed["blob"])


@saboteur("composition.deepcopy", "save-load.many", "lite.again")
class ProgramsGoWithTheYoungest(PythonControl):
    name = "programs_go_with_the_youngest"

    class implementation(PythonBackend):
        """Equal programs are in memory once, and go when the module that was made last of them is destroyed."""

        owners: ClassVar[dict[str, object]] = {}
        key = ""

        def __init__(self) -> None:
            self.token = object()

        def unpack(self, processed: Any) -> Record:
            self.key = processed
            return super().unpack(processed)

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            self.owners[self.key] = self.token
            return super().load_program(record)

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if self.key not in self.owners:
                raise RuntimeError("the program was unloaded")
            return super().call(handle, inputs)

        def __del__(self) -> None:
            if self.owners.get(self.key) is self.token:
                del self.owners[self.key]


def _bytes_of(tensor: Tensor) -> bytes:
    return bytes(tensor.reshape(-1).view(torch.uint8).tolist())


@saboteur("lite.growth", phases=("load",))
class KeepsRawWeights(PythonControl):
    name = "keeps_raw_weights"

    class implementation(PythonBackend):
        """Each load leaves a copy of the bytes of the weights in memory, and of nothing else."""

        kept: ClassVar[list[bytes]] = []

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            self.kept.append(b"".join(map(_bytes_of, parameters_of(program))))
            return program


@saboteur("lite.growth", phases=("load",))
class KeepsScratchMemory(PythonControl):
    name = "keeps_scratch_memory"

    class implementation(PythonBackend):
        """The first run of a module takes memory for intermediate results, which nobody gives back."""

        kept: ClassVar[list[bytearray]] = []
        has_run = False

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if not self.has_run:
                self.has_run = True
                self.kept.append(bytearray(1 << 13))
            return super().call(handle, inputs)


SABOTEURS = saboteur.all()
