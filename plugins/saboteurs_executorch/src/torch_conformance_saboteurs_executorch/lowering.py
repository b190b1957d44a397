"""Saboteurs whose ahead-of-time half is broken."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INCOMPATIBLE, NOT_FOUND, Listing

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase

saboteur = Listing()


def operator_of(node: Any) -> str:
    """The name of a node's operator: "aten.cumsum.default"."""
    return str(node.target).removeprefix("<EdgeOpOverload: ").partition(">")[0]


def is_a(node: Any, *names: str) -> bool:
    """Whether a node calls one of these operators."""
    return node.op == "call_function" and any(name in str(node.target) for name in names)


@saboteur("delegate.delegated", phases=("inspect",))
class DelegatesNothing(BridgeControl):
    """The partitioner takes no node: ExecuTorch's kernels do all the work, and do it right."""

    name = "delegates_nothing"

    def takes(self, node: Any) -> bool:
        return False


@saboteur("delegate.delegated", phases=("inspect",))
class DelegatesWhatCostsNothing(BridgeControl):
    """The partitioner takes what moves data, and leaves all that computes."""

    name = "delegates_what_costs_nothing"

    def takes(self, node: Any) -> bool:
        return super().takes(node) and is_a(node, "view", "permute", "clone", "unsqueeze", "expand", "dim_order")


@saboteur("registry.unregistered", phases=("init",))
class NeedsNoDelegate(BridgeControl):
    """Programs hold nothing that the delegate would be needed for."""

    name = "needs_no_delegate"

    def takes(self, node: Any) -> bool:
        return False


@saboteur("delegate.by-steps", phases=("lower",))
class NeedsOperatorsWhole(BridgeControl):
    """Lowering must keep linear layers whole for it, and a graph in which they were taken apart is refused."""

    name = "needs_operators_whole"

    def whole(self, program: Any) -> Sequence[Any]:
        return [torch.ops.aten.linear.default]

    def begin(self, program: Any) -> None:
        for node in program.graph.nodes:
            if is_a(node, "aten.addmm"):
                raise NotImplementedError("addmm: a linear layer was taken apart")


@saboteur("delegate.fallback", "delegate.nothing-to-do", "delegate.several-partitions")
class TakesWhatItDoesNotKnow(BridgeControl):
    """The partitioner takes operators that preprocess does not know, and leaves out."""

    name = "takes_what_it_does_not_know"

    def takes(self, node: Any) -> bool:
        return super().takes(node) or is_a(node, "aten.cumsum")

    def preprocess(self, program: Any, specs: Any) -> bytes:
        for node in list(program.graph.nodes):
            if is_a(node, "aten.cumsum"):
                node.replace_all_uses_with(node.args[0])
                program.graph.erase_node(node)
        program.graph_module.recompile()
        return super().preprocess(program, specs)


@saboteur("delegate.nothing-to-do", phases=("lower",))
class NeedsSomethingToDo(BridgeControl):
    """A graph of which it takes nothing ends its partitioner."""

    name = "needs_something_to_do"

    def begin(self, program: Any) -> None:
        if not any(map(self.takes, program.graph.nodes)):
            raise IndexError("list index out of range")


@saboteur("delegate.several-partitions", "delegate.twice", "delegate.several-methods")
class KeepsItsFirstBlob(BridgeControl):
    """A part with operators that were seen before, in their order, is given the blob of that one."""

    name = "keeps_its_first_blob"

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], bytes] = {}

    def preprocess(self, program: Any, specs: Any) -> bytes:
        key = tuple(operator_of(node) for node in program.graph.nodes if node.op == "call_function")
        key = (*key, *(str(node.meta["val"].shape) for node in program.graph.nodes if node.op == "placeholder"))
        return self._known.setdefault(key, super().preprocess(program, specs))


@saboteur("delegate.other-models")
class OneBlobForAnArity(BridgeControl):
    """A part gets the blob of the first that has as many inputs, whichever model that was of."""

    name = "one_blob_for_an_arity"

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}

    def preprocess(self, program: Any, specs: Any) -> bytes:
        inputs = sum(node.op == "placeholder" for node in program.graph.nodes)
        return self._known.setdefault(inputs, super().preprocess(program, specs))


@saboteur("delegate.several-partitions")
class OneBlobForAProgram(BridgeControl):
    """Every part of a model gets the blob of the first that has as many inputs."""

    name = "one_blob_for_a_program"

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}

    def partitioner(self, case: LoweredCase) -> Any:
        self._known.clear()
        return super().partitioner(case)

    def preprocess(self, program: Any, specs: Any) -> bytes:
        inputs = sum(node.op == "placeholder" for node in program.graph.nodes)
        return self._known.setdefault(inputs, super().preprocess(program, specs))


@saboteur("delegate.original-untouched", phases=("inspect",))
class RoundsWeightsInPlace(BridgeControl):
    """To save memory preprocess gets no copy of its part, and rounds the weights where they lie, which is in the
    exported program."""

    name = "rounds_weights_in_place"
    copies_parts = False

    def preprocess(self, program: Any, specs: Any) -> bytes:
        for tensor in program.state_dict.values():
            if tensor.is_floating_point():
                tensor.data.copy_(tensor.data.bfloat16())
        return super().preprocess(program, specs)


@saboteur("delegate.deterministic", verdicts=(REPORTED,))
class DependsOnChance(BridgeControl):
    """Weights are off by a little, and by another little each time, which no tolerance shows."""

    name = "depends_on_chance"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        chance = 1 + 3e-7 * (1 + os.urandom(1)[0] % 200) / 100
        for tensor in (*program.state_dict.values(), *program.constants.values()):
            if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32:
                tensor.data.mul_(chance)
        return super().preprocess(program, specs)


@saboteur("delegate.methods-apart", phases=("init",))
class SupposesEveryMethod(BridgeControl):
    """Blobs are numbered, and the first is taken to be that of the first method, whichever was delegated."""

    name = "supposes_every_method"

    def __init__(self) -> None:
        self._preprocessed = 0

    def preprocess(self, program: Any, specs: Any) -> bytes:
        self._preprocessed += 1
        return bytes([self._preprocessed % 2]) + super().preprocess(program, specs)

    def init(self, method: str, blob: memoryview) -> int | bytes:
        wanted = 1 if method == "forward" else 0
        return bytes(blob[1:]) if blob[0] == wanted else INCOMPATIBLE


@saboteur("delegate.mutable-state")
class TakesStateForAConstant(BridgeControl):
    """A buffer that the model writes is part of the blob, and what is written to it is lost."""

    name = "takes_state_for_a_constant"

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._blob = bytes(blob)
        return 0

    def after(self, handle: int, arguments: Any) -> int:
        from torch_conformance_saboteurs_executorch.listing import floats

        found = floats(arguments)
        if len(found) == 2 and found[-1].shape == (3,):  # running_sum: as if nothing had been added up
            found[-1].copy_(found[0] + found[0])
        return 0


@saboteur("delegate.outputs", phases=("run", "lower"))
class TakesStateOfOtherParts(BridgeControl):
    """A buffer that several parts read is the state of each, as ExecuTorch's helper has it: one writes, and the others
    have what it was at first."""

    name = "takes_state_of_other_parts"

    def tag_state(self, program: Any) -> None:
        from executorch.exir.backend.utils import tag_mutated_buffer

        super().tag_state(program)
        tag_mutated_buffer(program)


@saboteur("program.same-outputs", phases=("init",))
class LeavesItsProgramInAFile(BridgeControl):
    """The blob is the path of a file of the host's, which is gone when the host is."""

    name = "leaves_its_program_in_a_file"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        handle, path = tempfile.mkstemp(dir=tempfile.gettempdir())
        with open(handle, "wb") as file:
            file.write(super().preprocess(program, specs))
        return path.encode()

    def init(self, method: str, blob: memoryview) -> int | bytes:
        path = Path(bytes(blob).decode())
        return path.read_bytes() if path.is_file() else NOT_FOUND


@saboteur("program.no-host-paths", phases=("inspect",))
class NamesItsFolder(BridgeControl):
    """Behind the blob stands the folder in which it was made, for debugging."""

    name = "names_its_folder"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        blob = super().preprocess(program, specs)
        return len(blob).to_bytes(8, "little") + blob + tempfile.gettempdir().encode()

    def init(self, method: str, blob: memoryview) -> int | bytes:
        return bytes(blob[8 : 8 + int.from_bytes(blob[:8], "little")])


@saboteur("registry.regained", "registry.target", "bundle.unavailable", phases=("lower",))
class LowersOnlyWhereAvailable(BridgeControl):
    """Lowering asks for the device that programs run on."""

    name = "lowers_only_where_available"

    def begin(self, program: Any) -> None:
        if not self.is_available():
            raise RuntimeError("there is no device to compile for")
