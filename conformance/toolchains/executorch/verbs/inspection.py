"""Verbs that look: at what was exported and lowered, at programs, and at the runtime."""

from __future__ import annotations

import hashlib
from typing import Any

from conformance.compare.values import encode
from conformance.devices import Subject
from conformance.toolchains.executorch.verbs.session import ExportedCase, Session, verb


@verb
def digest(session: Session, exported: int) -> dict[str, str]:
    """A digest of everything that an exported program is: graphs, what is known of their nodes, signatures, state."""
    source: ExportedCase = session.get(exported)
    found: dict[str, str] = {}
    for method, program in source.programs.items():
        nodes = [(node.format_node(), sorted(node.meta), repr(node.meta.get("val"))) for node in program.graph.nodes]
        parts = {"graph": repr(nodes), "signature": repr(program.graph_signature)}
        found |= {f"{what} of {method}": hashlib.sha256(text.encode()).hexdigest() for what, text in parts.items()}
        state = {**program.state_dict, **program.constants}
        found |= {f"{name} of {method}": hashlib.sha256(encode(value)).hexdigest() for name, value in state.items()}
    return found


@verb
def delegation(session: Session, lowered: int) -> dict[str, dict[str, Any]]:
    """What became of each method: the ``backends`` that its graph calls, how many nodes are ``delegated``, and the
    operators that are ``left`` to ExecuTorch's kernels."""
    from conformance.toolchains.executorch.ahead_of_time import delegation_of

    manager = session.get(lowered).manager
    with Subject():
        return {method: delegation_of(manager.exported_program(method)) for method in sorted(manager.methods)}


@verb
def contents(session: Session, program: bytes) -> dict[str, dict[str, Any]]:
    """What a .pte says of each method: the ids of its ``delegates``, those of its ``calls`` in their order, its
    ``operators``, and the compile ``specs`` of each delegate."""
    from conformance.toolchains.executorch.programs import contents_of

    with Subject():
        return contents_of(program)


@verb
def blobs(session: Session, program: bytes) -> list[bytes]:
    """What the backend's preprocess made: the blob of each delegate of a .pte, in their order."""
    from conformance.toolchains.executorch.programs import blobs_of

    with Subject():
        return blobs_of(program)


@verb
def with_blob(session: Session, program: bytes, index: int, blob: bytes) -> bytes:
    """The same .pte with another blob, well formed around it."""
    from conformance.toolchains.executorch.programs import program_with_blob

    return program_with_blob(program, index, blob)


@verb
def specs_given(session: Session, exported: int) -> list[dict[str, bytes]]:
    """The compile specs of each DelegationSpec that the backend's partitioner gives for what was exported."""
    from conformance.toolchains.executorch import ahead_of_time

    source: ExportedCase = session.get(exported)
    with Subject():
        return [
            specs
            for program in source.programs.values()
            for partitioner in session.partitioners(source.case, shared=False)
            for specs in ahead_of_time.specs_given(program, partitioner)
        ]


@verb
def with_specs(session: Session, program: bytes, index: int, specs: dict[str, bytes]) -> bytes:
    """The same .pte with other compile specs for one of its delegates."""
    from conformance.toolchains.executorch.programs import program_with_specs

    return program_with_specs(program, index, specs)


@verb
def handle_maps(session: Session, lowered: int) -> list[dict[str, list[Any]]]:
    """For each delegate the debug handles that its preprocess ``named``, for which ``ids`` of its own, and those that
    its part of the graph ``has``."""
    from conformance.toolchains.executorch.ahead_of_time import handle_maps_of

    manager = session.get(lowered).manager
    with Subject():
        methods = sorted(manager.methods)
        return [each for method in methods for each in handle_maps_of(manager.exported_program(method))]


@verb
def registered(session: Session) -> list[str]:
    """The delegates that the runtime of this process has."""
    from executorch.runtime import Runtime

    with Subject():
        return sorted(Runtime.get().backend_registry.registered_backend_names)


@verb
def available(session: Session, name: str, count: int = 1) -> list[bool]:
    """What a delegate answers, asked so often whether it is available."""
    from executorch.runtime import Runtime

    with Subject():
        return [bool(Runtime.get().backend_registry.is_available(name)) for _ in range(count)]


@verb
def identity(session: Session) -> dict[str, Any]:
    """The process's id and the folders that it works with."""
    import os
    import tempfile

    return {"process id": os.getpid(), "folders": [os.getcwd(), tempfile.gettempdir(), os.path.expanduser("~")]}
