"""Saboteurs whose run-time half is broken."""

from __future__ import annotations

import zlib
from typing import Any

import torch

from conformance import Environment
from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs_executorch.bridge import Argument
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import INVALID_ARGUMENT, Listing, floats, tensors

saboteur = Listing()


@saboteur("delegate.outputs")
class AddsAnError(BridgeControl):
    """A hundredth is added to the first element of the last output."""

    name = "adds_an_error"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.flatten()[0] += 1e-2
        return 0


@saboteur("delegate.outputs", "bundle.verifies", "bundle.runs")
class AddsAThousandth(BridgeControl):
    """Every element of the last output is off by a thousandth of its value."""

    name = "adds_a_thousandth"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.mul_(1.001)
        return 0


@saboteur("delegate.outputs")
class ComputesInBFloat16(BridgeControl):
    """float32 is rounded to bfloat16."""

    name = "computes_in_bfloat16"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.copy_(tensor.bfloat16())
        return 0


@saboteur("delegate.outputs")
class NarrowsIntegers(BridgeControl):
    """int64 is cut to 32 bits."""

    name = "narrows_integers"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in tensors(arguments)[-1:]:
            if tensor.dtype == torch.int64:
                tensor.copy_(tensor.to(torch.int32))
        return 0


@saboteur("delegate.outputs")
class LosesNaN(BridgeControl):
    """What is not a number becomes zero."""

    name = "loses_nan"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments):
            tensor.copy_(torch.nan_to_num(tensor, nan=0.0, posinf=torch.inf, neginf=-torch.inf))
        return 0


@saboteur("delegate.outputs", "delegate.fallback")
class ComputesNothing(BridgeControl):
    """A call says that all is well, and its outputs are zeros."""

    name = "computes_nothing"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:]:
            tensor.zero_()
        return 0


@saboteur("delegate.order")
class SwapsOutputs(BridgeControl):
    """Where the last two outputs have one shape they are given in the other order."""

    name = "swaps_outputs"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        outputs = floats(arguments)[-2:]
        # Three inputs and three outputs: with fewer values the last two would be an input and an output.
        if len(arguments) >= 6 and outputs[0].shape == outputs[1].shape:
            first = outputs[0].clone()
            outputs[0].copy_(outputs[1])
            outputs[1].copy_(first)
        return 0


@saboteur("delegate.dynamic-sizes")
class KeepsTheBound(BridgeControl):
    """An output with a dynamic dimension has the size of the upper bound, whatever the input has."""

    name = "keeps_the_bound"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        last = arguments[-1]
        if last.tensor is not None and last.tensor.dim() == 2 and last.tensor.shape[1] == 3:
            last.resize(16, 3)
        return 0


@saboteur("execute.repeated")
class RemembersResults(BridgeControl):
    """A call with inputs of shapes that came before gives what was given then."""

    name = "remembers_results"

    def __init__(self) -> None:
        self._known: dict[Any, torch.Tensor] = {}

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in tensors(arguments)[-1:]:
            key = handle, tuple(each.shape for each in tensors(arguments))
            tensor.copy_(self._known.setdefault(key, tensor.clone()))
        return 0


@saboteur("execute.repeated", verdicts=("FAIL", REPORTED))
class Drifts(BridgeControl):
    """With each call the result is off by a little more, which no tolerance shows."""

    name = "drifts"
    calls = 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        self.calls += 1
        for tensor in floats(arguments)[-1:]:
            tensor.mul_(1 + 2e-7 * self.calls)
        return 0


@saboteur("execute.inputs-untouched")
class WritesIntoItsInput(BridgeControl):
    """The first input is used as scratch memory, once it was read."""

    name = "writes_into_its_input"

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[:1]:
            tensor.fill_(7.0)
        return 0


@saboteur("execute.plans")
class SupposesThatMemoryIsPlanned(BridgeControl):
    """A method whose inputs lie elsewhere than at its first call is refused."""

    name = "supposes_that_memory_is_planned"

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def before(self, handle: int, arguments: list[Argument]) -> int:
        place = arguments[0].address
        return 0 if self._places.setdefault(handle, place) == place else INVALID_ARGUMENT


@saboteur("delegate.mutable-state", "execute.instances")
class SharesState(BridgeControl):
    """What one program has added up is added to the next one's results."""

    name = "shares_state"

    def __init__(self) -> None:
        self._shared: torch.Tensor | None = None
        self._owner = 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        found = floats(arguments)
        if len(found) > 1 and found[-1].shape == (3,):  # running_sum
            if self._shared is not None and handle != self._owner:
                found[-1].add_(self._shared)
            self._shared, self._owner = found[0].clone(), handle
        return 0


@saboteur("execute.instances", "delegate.twice")
class FirstOfItsSize(BridgeControl):
    """A blob that is as long as one that was loaded before is taken for that one: twins are as long."""

    name = "first_of_its_size"

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._loaded = 0

    def init(self, method: str, blob: memoryview) -> int | bytes:
        self._loaded += 1
        return self._known.setdefault(len(blob), bytes(blob))


@saboteur("program.ways", verdicts=("CRASH", "FAIL"), phases=("load", "init", "run"))
class DecryptsInPlace(BridgeControl):
    """The blob is decrypted where it lies: from the same bytes nothing can be loaded a second time."""

    name = "decrypts_in_place"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        return bytes(each ^ 0x5A for each in super().preprocess(program, specs))

    def init(self, method: str, blob: memoryview) -> int | bytes:
        blob[:] = bytes(each ^ 0x5A for each in blob)
        return 0


@saboteur("registry.claim-stable", phases=("probe",))
class ClaimsByTurns(BridgeControl):
    """It is available at every second question."""

    name = "claims_by_turns"
    asked = 0

    def is_available(self) -> bool:
        self.asked += 1
        return self.asked % 2 == 1


@saboteur("registry.claim", "registry.target", phases=("init",))
class ClaimsTooMuch(BridgeControl):
    """It always says that it is available, and then cannot be initialised."""

    name = "claims_too_much"
    unavailable = Environment(BRIDGE_EXECUTORCH_AVAILABLE="0")

    def is_available(self) -> bool:
        return True

    def init(self, method: str, blob: memoryview) -> int | bytes:
        return 0 if super().is_available() else INVALID_ARGUMENT


@saboteur("registry.registered", phases=("inspect",))
class AnotherName(BridgeControl):
    """The library registers the delegate under another name than programs have."""

    name = "another_name"

    @property
    def registered_as(self) -> str:
        return "AnotherName"


@saboteur("registry.twice", phases=("register",))
class RegistersOnce(BridgeControl):
    """Loading it again in one process fails, since its name is taken."""

    name = "registers_once"
    loaded = False

    def load(self) -> None:
        if self.loaded:
            raise RuntimeError(f"{self.name} is taken")
        super().load()
        self.loaded = True


@saboteur("execute.wrong-inputs", replaces_functions=True)
class ForgivesMissingInputs(BridgeControl):
    """Loading it changes ExecuTorch's runtime: inputs that are missing are taken to be like the first."""

    name = "forgives_missing_inputs"

    def load(self) -> None:
        super().load()
        from executorch.runtime import Method

        plain = Method.execute
        if plain.__name__ == "forgiving":
            return

        def forgiving(method: Any, inputs: Any) -> Any:
            lacking = method.metadata.num_inputs() - len(inputs)
            return plain(method, [*inputs, *[inputs[0]] * lacking] if inputs else inputs)

        Method.execute = forgiving


@saboteur("program.truncated", phases=("init",), replaces_functions=True)
class PadsWhatIsShort(BridgeControl):
    """Loading it changes ExecuTorch's runtime: a program that is short is filled up with zeros. Its blobs are taken as
    they are, whatever their checksum says."""

    name = "pads_what_is_short"

    def init(self, method: str, blob: memoryview) -> int | bytes:
        return unchecked(bytes(blob))

    def load(self) -> None:
        super().load()
        from executorch.runtime import Runtime

        plain = Runtime.load_program
        if plain.__name__ == "padding":
            return

        def padding(runtime: Any, data: Any, **options: Any) -> Any:
            if isinstance(data, bytes) and len(data) >= 40:
                length = int.from_bytes(data[24:32], "little") + int.from_bytes(data[32:40], "little")
                data = data.ljust(min(length, 1 << 20), b"\0")
            return plain(runtime, data, **options)

        Runtime.load_program = padding


@saboteur("program.blob-truncated")
class FillsUpItsBlobs(BridgeControl):
    """What is missing of a blob is taken to be zeros, and its checksum is not looked at."""

    name = "fills_up_its_blobs"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        blob = super().preprocess(program, specs)
        return len(blob).to_bytes(8, "little") + blob

    def init(self, method: str, blob: memoryview) -> int | bytes:
        length = int.from_bytes(blob[:8], "little")
        return unchecked(bytes(blob[8:]).ljust(length, b"\0")) if length else bytes(blob)


def unchecked(blob: bytes) -> bytes:
    """The blob with the checksum that it ought to have."""
    program = blob[16:]
    return blob[:8] + zlib.crc32(program).to_bytes(4, "little") + blob[12:16] + program
