"""What is different from toolchain to toolchain where a failure is told."""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.toolchains.session import Verbs


@dataclasses.dataclass(frozen=True)
class Kit:
    """Where the parts of a toolchain's scripts are: names of modules, from which definitions are copied."""

    toolchain: str
    #: The package with the verbs, and the module with their table. Importing them is not for every run of pytest.
    package: str
    table: str
    #: What makes the backend known to PyTorch, and what stands in for a session.
    loading: str
    session: str
    #: The class that clauses see of a device, and its module.
    face: tuple[str, str]
    #: Verbs that reply with a list of all that a step answered.
    encoded: tuple[str, ...]
    #: Role of a process → what it does.
    roles: dict[str, str]

    @property
    def verb_modules(self) -> tuple[str, ...]:
        """Where verbs, and what stands between PyTorch and the backend for them, come from: beginnings of names."""
        return f"{self.package}._", f"{self.package}.watch", self.session

    def verbs(self) -> Verbs:
        """The toolchain's table of verbs."""
        importlib.import_module(self.package).open_session(None)
        verbs: Verbs = importlib.import_module(self.table).verb
        return verbs


KITS = {
    "torchscript": Kit(
        toolchain="torchscript",
        package="conformance.toolchains.torchscript",
        table="conformance.toolchains.torchscript._session",
        loading="conformance.reproducers._libraries",
        session="conformance.reproducers._session",
        face=("conformance.toolchains.torchscript.face", "TorchScriptDevice"),
        encoded=("run",),
        roles={
            "host": "The process that lowers and saves.",
            "target": "The process that loads and runs.",
            "bare": "A process in which no backend is loaded.",
        },
    ),
    "dynamo": Kit(
        toolchain="dynamo",
        package="conformance.toolchains.dynamo",
        table="conformance.toolchains.dynamo._session",
        loading="conformance.reproducers._registered",
        session="conformance.reproducers._dynamo_session",
        face=("conformance.toolchains.dynamo.face", "DynamoDevice"),
        encoded=(),
        roles={
            "host": "The process that compiles.",
            "target": "The process that loads what the other one saved.",
            "bare": "A process in which nothing is compiled: what eager PyTorch does.",
        },
    ),
}
