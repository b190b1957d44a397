"""The conforming delegate that each saboteur breaks in one place: the reference delegate over the bridge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from conformance import Environment, ExecuTorchBackend
from torch_conformance_saboteurs_executorch.bridge import Argument, library_path, register

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase

#: The names that were registered in this process.
_registered: set[str] = set()


class BridgeControl(ExecuTorchBackend):
    """Keeps the contract. A saboteur overrides a step of the run-time half, or one of the ahead-of-time half."""

    name = "bridge_control"
    unavailable = Environment(BRIDGE_EXECUTORCH_AVAILABLE="0")
    # The switch is read at every question.
    lost = unavailable
    #: Whether preprocess gets a part of its own, as ExecuTorch has it unless a backend says otherwise.
    copies_parts = True

    def prepare(self) -> Environment:
        """Compile the bridge if there is none yet, and tell the devices where it is."""
        return Environment(BRIDGE_EXECUTORCH_LIBRARY=str(library_path()))

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The library that was prepared; where nothing was, it is looked for, and compiled if there is none yet."""
        return (os.environ.get("BRIDGE_EXECUTORCH_LIBRARY") or str(library_path()),)

    @property
    def registered_as(self) -> str:
        """The name under which the run-time half is registered."""
        return self.name

    def load(self) -> None:
        """Load the bridge, and register this object as a delegate."""
        super().load()
        if self.name not in _registered:
            _registered.add(self.name)
            register(self.libraries[0], self.registered_as, self)

    # The ahead-of-time half.

    def partitioner(self, case: LoweredCase) -> Any:
        """The reference delegate's partitioner, whose preprocess is this object's."""
        from torch_conformance_saboteurs_executorch.ahead_of_time import partitioner_of

        return partitioner_of(self, case)

    def quantizer(self, case: LoweredCase) -> Any:
        """The reference delegate's."""
        from torch_conformance_reference_executorch.quantizer import reference_quantizer

        return reference_quantizer()

    def takes(self, node: Any) -> bool:
        """Whether a node is delegated."""
        from torch_conformance_reference_executorch.partition import is_taken

        return is_taken(node)

    def whole(self, program: Any) -> Sequence[Any]:
        """The operators that lowering must not take apart before it is partitioned."""
        return ()

    def begin(self, program: Any) -> None:
        """Called with a program before it is partitioned."""

    def tag_state(self, program: Any) -> None:
        """Tag constants and buffers, once nodes are tagged."""
        from torch_conformance_reference_executorch.partition import tag_state

        tag_state(program)

    def preprocess(self, program: Any, specs: Any) -> bytes:
        """The blob of a part."""
        from torch_conformance_reference_executorch.partition import blob_of, program_of

        return blob_of(program_of(program), specs)

    def debug_handles(self, program: Any) -> dict[int, tuple[int, ...]]:
        """What the delegate calls its steps, and the debug handles of the graph that each is made of."""
        from torch_conformance_reference_executorch.partition import handles_of

        return handles_of(program)

    def specs(self, case: LoweredCase) -> dict[str, bytes]:
        """The compile specs of the partitioner."""
        return {"precision": b"float32", "zeros": bytes(3), "empty": b""}

    # The run-time half.

    def is_available(self) -> bool:
        """Whether the delegate says that it is available."""
        return os.environ.get("BRIDGE_EXECUTORCH_AVAILABLE") != "0"

    def told_specs(self, specs: bytes) -> None:
        """Told the compile specs ahead of init."""

    def is_traced(self, traced: bool) -> None:
        """Told ahead of a call whether it is traced."""

    def init(self, method: str, blob: memoryview) -> int | bytes:
        """Called for each delegate of a method."""
        return 0

    def made(self, handle: int) -> None:
        """Told the handle of what init has made."""

    def before(self, handle: int, arguments: list[Argument]) -> int:
        """Called before a call is computed."""
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        """Called when the outputs are computed."""
        return 0

    def failed(self, handle: int, arguments: list[Argument], code: int) -> int:
        """Called in place of ``after`` where a call failed: the code that it returns."""
        return code

    def told_option(self, key: str) -> int:
        """Told of an option that is set or asked for while programs run."""
        return 0

    def destroy(self, handle: int) -> bool:
        """Whether a delegate that is let go of is destroyed."""
        return True
