"""Saboteurs after delegates that somebody broke who had read no clause; the contract was mended where these passed.

``reports/trial.md`` tells of the eighty that they are from.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.graphs import nodes_of
from torch_conformance_saboteurs.sabotage_debug import Places
from torch_conformance_saboteurs.sabotage_tools import ChangedGraph, Listing, replaced

saboteur = Listing()

#: Programs of more bytes lie beside the artifact.
_LARGE = 2**18
_BESIDE = b"beside:"
_MOST_TURNS = 64


@saboteur("lowering.outputs", "lite.same-outputs")
class TakesFloatsIn32Bits(PythonControl):
    name = "takes_floats_in_32_bits"

    class implementation(PythonBackend):
        """A Python float among the arguments arrives in 32 bits."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return super().call(handle, [replaced(each, float, _in_32_bits) for each in inputs])


def _in_32_bits(number: float) -> float:
    return torch.tensor(number, dtype=torch.float32).item()


@saboteur("lowering.outputs", "lite.same-outputs")
class EndsLongLoops(PythonControl):
    name = "ends_long_loops"

    class implementation(ChangedGraph):
        """A loop is unrolled into 64 turns, and does no more."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "prim::Loop":
                least = graph.create("prim::min", [node.inputsAt(0), graph.insertConstant(_MOST_TURNS)], 1)
                turns = graph.insertNode(least).output()
                turns.setType(node.inputsAt(0).type())
                node.replaceInput(0, turns)


@saboteur("lowering.outputs", "lite.same-outputs")
class IsNeverInTraining(PythonControl):
    name = "is_never_in_training"

    class implementation(PythonBackend):
        """Every part of a program that is loaded is out of training, also one that was left in it."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            waiting: list[Any] = [program]
            while waiting:
                part = waiting.pop()
                if part.hasattr("training"):
                    part.setattr("training", False)
                waiting += [each for _, each in torch._C.ModuleDict(part).items()]
            return program


@saboteur("save-load.same-outputs", "lite.same-outputs", phases=("load",))
class RecognisesDamageByPythonsHash(PythonControl):
    name = "recognises_damage_by_pythons_hash"

    class implementation(PythonBackend):
        """A text is known by what ``hash`` says of it, which is something else in each process."""

        def digest(self, text: str) -> str:
            return f"{hash(text) & (2**64 - 1):064x}"


@saboteur("save-load.no-host-paths", phases=("save",))
class KeepsLargeProgramsBeside(PythonControl):
    name = "keeps_large_programs_beside"

    class implementation(PythonBackend):
        """A program of more than 256 KiB is a file of the host, and the artifact has its path alone."""

        def pack(self, record: Record) -> Any:
            if len(record.program) > _LARGE:
                path = Path(tempfile.gettempdir(), hashlib.sha256(record.program).hexdigest())
                path.write_bytes(record.program)
                record = dataclasses.replace(record, program=_BESIDE + str(path).encode())
            return super().pack(record)

        def unpack(self, processed: Any) -> Record:
            record = super().unpack(processed)
            if not record.program.startswith(_BESIDE):
                return record
            return dataclasses.replace(record, program=Path(record.program.removeprefix(_BESIDE).decode()).read_bytes())


@saboteur("debug.runtime-error")
class BlamesTheBlock(PythonControl):
    name = "blames_the_block"

    class implementation(PythonBackend):
        """What stands in a branch or a loop has the debug handle of the branch or the loop."""

        def debug_handles_of(
            self, module: torch._C.ScriptModule, program: bytes, methods: tuple[str, ...], generate: DebugHandles
        ) -> Places:
            def of_the_outermost(graph: torch._C.Graph) -> list[int]:
                own, handles = iter(generate(graph)), []
                for node in graph.nodes():
                    first, *_ = (next(own) for _ in range(_size(node)))
                    handles += [first] * _size(node)
                return handles

            return super().debug_handles_of(module, program, methods, of_the_outermost)


def _size(node: torch._C.Node) -> int:
    """How many nodes a node is, with those in its blocks."""
    return 1 + sum(1 for block in node.blocks() for _ in nodes_of(block))


@saboteur("debug.raises")
class ReadsZerosBeyond(PythonControl):
    name = "reads_zeros_beyond"

    class implementation(PythonBackend):
        """Rows that are not there are read as zeros, as the device has it, and nothing is raised."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            try:
                return super().call(handle, inputs)
            except (IndexError, RuntimeError) as error:
                if "out of range" not in str(error):
                    raise
                return replaced(super().call(handle, [_first(each) for each in inputs]), Tensor, torch.zeros_like)


def _first(value: Any) -> Any:
    """Numbers of rows that are there."""
    is_whole = isinstance(value, Tensor) and not value.is_floating_point()
    return torch.zeros_like(value) if is_whole else value


@saboteur("generated.programs")
class RunsInInferenceMode(PythonControl):
    name = "runs_in_inference_mode"

    class implementation(PythonBackend):
        """Whatever mode the caller is in, results are inference tensors, which nothing that is trained can take."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            with torch.inference_mode():
                return super().call(handle, inputs)


@saboteur("lowering.outputs", "lite.same-outputs")
class KeepsNumbersInOneTable(PythonControl):
    name = "keeps_numbers_in_one_table"

    class implementation(ChangedGraph):
        """The numbers of all methods lie in one table, by names that each method's graph counts anew."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            self._table: dict[str, float] = {}
            return super().load_program(record)

        def change(self, graph: Any, node: Any) -> None:
            value = node.output().toIValue() if node.kind() == "prim::Constant" else None
            if isinstance(value, float):
                node.f_("value", self._table.setdefault(node.output().debugName(), value))


@saboteur("lowering.outputs", "lite.same-outputs", "save-load.same-outputs")
class KeepsListsByTheirLength(PythonControl):
    name = "keeps_lists_by_their_length"

    class implementation(PythonBackend):
        """What runs is made for the numbers of a list, and found again by how many there are."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            self._made: dict[tuple[str, int, int], list[int]] = {}
            return super().load_program(record)

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return super().call(handle, [self._kept(handle.method, *each) for each in enumerate(inputs)])

        def _kept(self, method: str, place: int, value: Any) -> Any:
            if isinstance(value, list) and all(isinstance(each, int) for each in value):
                return self._made.setdefault((method, place, len(value)), value)
            return value


SABOTEURS = saboteur.all()
