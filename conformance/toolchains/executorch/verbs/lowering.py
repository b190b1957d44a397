"""Verbs of the host: export, lower, emit."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.api.case import case_named
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.executorch.verbs.session import ExportedCase, LoweredModel, Session, verb


@verb
def samples(session: Session, case: str, seed: int) -> list[dict[str, Any]]:
    """What eager PyTorch gives for each sample of a case, flat as a program gives it, made one after the other on one
    model: ``[{method, inputs, expected}]``, values encoded."""
    chosen = case_named(case, "executorch")
    module, by_method = chosen.build(seed)
    calls = []
    with Subject(), torch.no_grad():
        for method in chosen.methods:
            for inputs in by_method[method]:
                before = encode(inputs)
                expected = pytree.tree_leaves(getattr(module, method)(*decode(before)))
                calls.append({"method": method, "inputs": before, "expected": encode(expected)})
    return calls


@verb
def export(session: Session, case: str, seed: int) -> int:
    """A case's module, each method exported for its first sample, with the dynamic dimensions that the model names."""
    from conformance.toolchains.executorch.ahead_of_time import exported_methods

    chosen = case_named(case, "executorch")
    module, by_method = chosen.build(seed)
    with Subject():
        programs = exported_methods(module, {method: by_method[method][0] for method in chosen.methods})
    return session.keep(ExportedCase(chosen, module, programs))


@verb
def export_with_data_aside(session: Session, case: str, seed: int) -> int:
    """A case's ``forward``, exported with its weights tagged for a file of their own."""
    from conformance.toolchains.executorch.ahead_of_time import exported_methods, with_data_aside

    chosen = case_named(case, "executorch")
    module, by_method = chosen.build(seed)
    inputs = by_method["forward"][0]
    with Subject():
        program = exported_methods(module, {"forward": inputs})["forward"]
        return session.keep(ExportedCase(chosen, module, {"forward": with_data_aside(program, inputs, "weights")}))


@verb
def emit_with_data(session: Session, lowered: int) -> dict[str, Any]:
    """The ``program``, and the ``data`` of each .ptd that belongs to it."""
    from conformance.toolchains.executorch.ahead_of_time import data_of, emitted

    with Subject():
        made = emitted(session.get(lowered).manager, planned=True)
        return {"program": bytes(made.buffer), "data": data_of(made)}


@verb
def has_quantizer(session: Session, case: str) -> bool:
    """Whether the backend has a quantizer for a case."""
    with Subject():
        return session.backend is None or session.backend.quantizer(case_named(case, "executorch")) is not None


@verb
def export_quantised(session: Session, case: str, seed: int) -> int:
    """A case's ``forward`` after PT2E: prepared by the backend's quantizer, calibrated with the case's samples,
    converted, and exported again. The control has a quantizer of its own."""
    from conformance.toolchains.executorch.ahead_of_time import exported_methods, plain_quantizer, quantised

    chosen = case_named(case, "executorch")
    module, by_method = chosen.build(seed)
    samples = by_method["forward"]
    with Subject():
        program = exported_methods(module, {"forward": samples[0]})["forward"]
        quantizer = plain_quantizer() if session.backend is None else session.backend.quantizer(chosen)
        programs = {"forward": quantised(program, quantizer, samples)}
    return session.keep(ExportedCase(chosen, module, programs))


@verb
def quanta(session: Session, exported: int) -> list[float]:
    """For each output of a quantised ``forward`` the step between two values of it; 0 where it is not quantised."""
    from conformance.toolchains.executorch.ahead_of_time import quanta_of

    with Subject():
        return quanta_of(session.get(exported).programs["forward"])


@verb
def lower(
    session: Session,
    exported: int,
    by_steps: bool = False,
    left: list[str] | None = None,
    beside: str = "",
    shared: bool = False,
) -> int:
    """Lower with the backend's partitioner, but for the methods that are ``left`` to ExecuTorch's own kernels; the
    control has no partitioner. ``by_steps`` takes the older route, ``to_edge`` and then ``to_backend``.

    ``beside`` another delegate: its partitioner is asked "first" or "last" for each method, or "instead" for those that
    are left. One partitioner object that is ``shared`` serves all methods, and later lowerings that share.
    """
    from conformance.toolchains.executorch.ahead_of_time import companion, lowered_programs

    source: ExportedCase = session.get(exported)
    left = left or []
    with Subject():
        partitioners: dict[str, list[Any]] = {}
        for method in source.programs:
            own = [] if method in left else session.partitioners(source.case, shared=shared)
            others = [companion()] if beside in ("first", "last") or (beside and method in left) else []
            if own or others:
                partitioners[method] = [*others, *own] if beside == "first" else [*own, *others]
        manager = lowered_programs(source.programs, partitioners, by_steps=by_steps)
    return session.keep(LoweredModel(source, manager))


@verb
def emit(session: Session, lowered: int, planned: bool = True, alignment: int | None = None) -> bytes:
    """The program, as the bytes of a .pte; its inputs and outputs lie in memory that was ``planned``, or do not, and
    its blobs at multiples of the ``alignment``."""
    from conformance.toolchains.executorch.ahead_of_time import emitted

    with Subject():
        return bytes(emitted(session.get(lowered).manager, planned=planned, alignment=alignment).buffer)


@verb
def bundle(session: Session, lowered: int, calls: list[dict[str, Any]], expected: list[bytes]) -> bytes:
    """A bundled program, with the inputs of each call and what is expected of it; as the bytes of a .bpte."""
    from conformance.toolchains.executorch.ahead_of_time import bundled, emitted

    suites: dict[str, list[tuple[Any, Any]]] = {}
    for call, wanted in zip(calls, expected, strict=True):
        suites.setdefault(call["method"], []).append((decode(call["inputs"]), tuple(decode(wanted))))
    with Subject():
        return bundled(emitted(session.get(lowered).manager, planned=True), suites)


@verb
def run_exported(session: Session, exported: int, method: str, inputs: bytes) -> bytes:
    """What an exported program itself gives, in PyTorch."""
    source: ExportedCase = session.get(exported)
    with Subject(), torch.no_grad():
        return encode(pytree.tree_leaves(source.programs[method].module()(*decode(inputs))))
