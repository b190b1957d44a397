"""The face of each toolchain: the class of the devices that its clauses see."""

from __future__ import annotations

from conformance.toolchains.cell import CellDevice
from conformance.toolchains.dynamo.face import DynamoDevice
from conformance.toolchains.torchscript.face import TorchScriptDevice

FACES: dict[str, type[CellDevice]] = {
    "dynamo": DynamoDevice,
    "torchscript": TorchScriptDevice,
}
