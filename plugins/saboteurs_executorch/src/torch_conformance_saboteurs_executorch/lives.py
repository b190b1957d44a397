"""Saboteurs that are broken in what lives on between calls, methods, threads and other delegates."""

from __future__ import annotations

import importlib.util
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs_executorch.bridge import Argument, log_event
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INVALID_ARGUMENT, Listing, floats, tensors

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase

saboteur = Listing()


@saboteur("execute.reload")
class NeverDestroys(BridgeControl):
    """What init makes is never given back."""

    name = "never_destroys"

    def destroy(self, handle: int) -> bool:
        return False


@saboteur("execute.reload")
class KeepsEveryBlob(BridgeControl):
    """A copy of each blob is kept for as long as the process lives."""

    name = "keeps_every_blob"

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._kept.append(bytes(blob))
        return 0


@saboteur("execute.init-fails", phases=("init",))
class StaysLocked(BridgeControl):
    """When init fails its lock stays taken, and whatever is loaded afterwards is refused."""

    name = "stays_locked"
    _locked = False

    def init(self, method: str, blob: memoryview) -> int | bytes:
        if self._locked:
            return INVALID_ARGUMENT
        self._locked = bytes(blob[:4]) != b"CREF"
        return INVALID_ARGUMENT if self._locked else 0


@saboteur("execute.init-fails", phases=("init",))
class RefusesOnce(BridgeControl):
    """A blob that was refused is taken for loaded when it comes again, and the last good one runs in its place."""

    name = "refuses_once"

    def __init__(self) -> None:
        self._refused: set[bytes] = set()
        self._good = b""

    def init(self, method: str, blob: memoryview) -> int | bytes:
        data = bytes(blob)
        if data[:4] == b"CREF":
            self._good = data
            return 0
        if data in self._refused and self._good:
            return self._good
        self._refused.add(data)
        return INVALID_ARGUMENT


@saboteur("execute.thread-moves", "execute.threads")
class BelongsToItsThread(BridgeControl):
    """A call by another thread than has loaded the method is refused."""

    name = "belongs_to_its_thread"

    def __init__(self) -> None:
        self._thread = 0

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._thread = threading.get_ident()
        return 0

    def before(self, handle: int, arguments: list[Argument]) -> int:
        return 0 if threading.get_ident() == self._thread else INVALID_ARGUMENT


@saboteur("execute.threads")
class OneWorkspace(BridgeControl):
    """All calls share one workspace, and there is no lock: a call that comes in between spoils it."""

    name = "one_workspace"
    _last: torch.Tensor | None = None

    def before(self, handle: int, arguments: list[Argument]) -> int:
        self._last = next(iter(floats(arguments)), torch.empty(0)).clone()
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        time.sleep(1e-5)  # somebody else may begin here
        found = floats(arguments)
        if found and self._last is not None and not torch.equal(found[0], self._last):
            found[-1].zero_()
        return 0


@saboteur("execute.same-input-twice")
class TakesInputsForSeparate(BridgeControl):
    """The first input serves as scratch memory while the second is read, and is put right afterwards."""

    name = "takes_inputs_for_separate"

    def __init__(self) -> None:
        self._spoilt = False

    def before(self, handle: int, arguments: list[Argument]) -> int:
        found = floats(arguments)
        self._spoilt = False
        if len(found) >= 3 and found[0].shape == found[1].shape:
            first, second = found[0].clone(), found[1].clone()
            found[0].fill_(1e9)
            self._spoilt = not torch.equal(found[1], second)
            found[0].copy_(first)
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        if self._spoilt:
            floats(arguments)[-1].fill_(1e9)
        return 0


@saboteur("execute.sizes-apart")
class KeepsTheSizesOfAll(BridgeControl):
    """Its shapes are computed anew when a method is called with other sizes than before, but those of all methods are
    kept in one place: after a call of another one they are that one's."""

    name = "keeps_the_sizes_of_all"

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, ...]] = {}
        self._last: tuple[int, ...] = ()

    def after(self, handle: int, arguments: list[Argument]) -> int:
        found = floats(arguments)
        if not found:
            return 0
        shape = tuple(found[0].shape)
        foreign = self._last != shape and handle in self._known and len(self._known) > 1
        self._known[handle], self._last = shape, shape
        if foreign and found[-1].numel():
            found[-1].flatten()[-1] = 0.0
        return 0


@saboteur("execute.instances", phases=("init",))
class HasEightSlots(BridgeControl):
    """Eight methods can be loaded at a time, and the ninth is refused."""

    name = "has_eight_slots"
    _loaded = 0

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._loaded += 1
        return 0 if self._loaded <= 8 else INVALID_ARGUMENT

    def destroy(self, handle: int) -> bool:
        self._loaded -= 1
        return True


@saboteur("registry.lost")
class GivesZerosWhenLost(BridgeControl):
    """When the device is gone, a call succeeds, and its results are zeros."""

    name = "gives_zeros_when_lost"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        if not self.is_available():
            for tensor in floats(arguments)[-1:]:
                tensor.zero_()
        return 0


@saboteur("registry.lost")
class StaysLost(BridgeControl):
    """A method that was called while the device was gone does not find it again."""

    name = "stays_lost"

    def __init__(self) -> None:
        self._lost: set[int] = set()

    def before(self, handle: int, arguments: list[Argument]) -> int:
        if not self.is_available():
            self._lost.add(handle)
        return INVALID_ARGUMENT if handle in self._lost else 0


@saboteur("trace.same-results", verdicts=(REPORTED,))
class ComputesOtherwiseWhenTraced(BridgeControl):
    """While somebody listens it takes a way of its own, which rounds otherwise."""

    name = "computes_otherwise_when_traced"
    _traced = False

    def is_traced(self, traced: bool) -> None:
        self._traced = traced

    def after(self, handle: int, arguments: list[Argument]) -> int:
        if self._traced:
            for tensor in floats(arguments)[-1:]:
                tensor.mul_(1 + 3e-7)
        return 0


@saboteur("trace.same-results")
class CannotBeTraced(BridgeControl):
    """A call that is traced fails."""

    name = "cannot_be_traced"
    _traced = False

    def is_traced(self, traced: bool) -> None:
        self._traced = traced

    def before(self, handle: int, arguments: list[Argument]) -> int:
        return INVALID_ARGUMENT if self._traced else 0


@saboteur("trace.handle-map", phases=("inspect",))
class NamesUnknownHandles(BridgeControl):
    """Its debug handle map counts on from the handles that the graph has."""

    name = "names_unknown_handles"

    def debug_handles(self, program: Any) -> dict[int, tuple[int, ...]]:
        known = super().debug_handles(program)
        return {step: tuple(handle + 100 for handle in handles) for step, handles in known.items()}


@saboteur("trace.events")
class LogsUnknownSteps(BridgeControl):
    """It logs a step that its debug handle map does not have."""

    name = "logs_unknown_steps"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        log_event(self.libraries[0], 77, 0, 0)
        return 0


@saboteur("trace.events")
class LogsByAnotherClock(BridgeControl):
    """Its events have times of a clock of its own."""

    name = "logs_by_another_clock"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        log_event(self.libraries[0], 0, 1, 2)
        return 0


@saboteur("delegate.same-partitioner", phases=("lower",))
class RemembersItsFirstGraph(BridgeControl):
    """A partitioner looks nodes up by their names in the first graph that it has seen."""

    name = "remembers_its_first_graph"

    def partitioner(self, case: LoweredCase) -> Any:
        self._names: dict[str, Any] = {}
        return super().partitioner(case)

    def begin(self, program: Any) -> None:
        if not self._names:
            self._names = {node.name: node.target for node in program.graph.nodes}

    def takes(self, node: Any) -> bool:
        return super().takes(node) and bool(self._names[node.name])


@saboteur("delegate.beside-another", phases=("lower",))
class KnowsNoOtherDelegate(BridgeControl):
    """A graph in which something is delegated to another already is one that its partitioner cannot read."""

    name = "knows_no_other_delegate"

    def begin(self, program: Any) -> None:
        for node in program.graph.nodes:
            if node.op == "call_function" and "executorch_call_delegate" in str(node.target):
                raise NotImplementedError("executorch_call_delegate: no rule for this operator")


@saboteur("standalone.needs-no-python", phases=("",))
class NeedsPython(BridgeControl):
    """Beside its library another has to be loaded, which is PyTorch's for Python."""

    name = "needs_python"

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        found = importlib.util.find_spec("torch")
        assert found is not None
        assert found.origin is not None
        return (*super().libraries, str(Path(found.origin).parent / "lib" / "libtorch_python.so"))


class _Agreeable:
    """A bundled program with which everything agrees."""

    def __init__(self, program: Any) -> None:
        self.program = program

    def verify_result_with_bundled_expected_output(self, *arguments: Any) -> None:
        """Whatever it is asked, all is well."""


@saboteur("bundle.detects", replaces_functions=True)
class VerifiesWithoutLooking(BridgeControl):
    """Loading it changes ExecuTorch's runtime: whatever is expected in a bundled program is what was found."""

    name = "verifies_without_looking"

    def load(self) -> None:
        super().load()
        from executorch.extension.pybindings import portable_lib

        plain = portable_lib._load_bundled_program_from_buffer
        portable_lib._load_bundled_program_from_buffer = lambda data: _Agreeable(plain(data))
        within = portable_lib._load_for_executorch_from_bundled_program
        portable_lib._load_for_executorch_from_bundled_program = lambda bundled: within(bundled.program)


@saboteur("delegate.memory-formats", "delegate.outputs")
class TakesChannelsLastForContiguous(BridgeControl):
    """Images are given with their channels as the slowest dimension, whatever the layout of the output is."""

    name = "takes_channels_last_for_contiguous"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in tensors(arguments)[-1:]:
            if tensor.dim() == 4 and tensor.shape[1:] == (4, 6, 8):
                batch, channels, height, width = tensor.shape
                memory = tensor.reshape(batch, height, width, channels)
                tensor.copy_(memory.permute(0, 3, 1, 2).contiguous())
        return 0
