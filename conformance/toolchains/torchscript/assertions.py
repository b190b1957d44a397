"""Assertions for clauses about TorchScript delegates."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from conformance.api.assertions import check, refused
from conformance.api.case import Call
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.compare.assertions import assert_close, assert_equal, leaves_of
from conformance.compare.comparison import describe
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains import case_named
from conformance.toolchains.assertions import is_variable_of_others
from conformance.toolchains.torchscript.answers import Identity
from conformance.toolchains.torchscript.client import (
    Artifact,
    Module,
    PreparedCase,
    TorchScriptDevice,
)
from conformance.toolchains.torchscript.damage.archive import records, underlined_lines

__all__ = [
    "NOT_AVAILABLE",
    "assert_bundle",
    "assert_clean_refusal",
    "assert_hands_over",
    "assert_right_in_turns",
    "assert_same_process",
    "assert_same_signatures",
    "assert_signs_of_zeros",
    "calls_of_twin",
    "in_turns",
    "traces_of",
    "unavailable",
    "unmangled",
]

#: The operators that every backend takes, and so none may refuse.
_FLOOR = ("aten::add", "aten::sub", "prim::Constant")
_OUT_OF_DATE = "it computes the right values, so the declaration in `features` is out of date"
#: What a process has of a backend without anybody being the worse for it.
_OF_ITS_OWN = {
    "threads of Python",
    "threads of the process",
    "open descriptors",
    "functions registered for exit",
}
NOT_AVAILABLE = "Backend is not available."
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{24,}={0,2}")
_OPERATOR = re.compile(r"\b(?:aten|prim|quantized)::\w+")


@contextlib.contextmanager
def unavailable(what: str) -> Iterator[None]:
    """Within the block something must raise "Backend is not available.", as torch.jit.Error and not RuntimeError."""
    with refused(what) as refusal:
        yield
    right = refusal.is_a("torch.jit.Error") and NOT_AVAILABLE in refusal.text
    check(right, f"{what}: expected torch.jit.Error {NOT_AVAILABLE!r}, found {refusal.type}: {refusal.text:.200}")


def assert_hands_over(artifact: Artifact, backend: str) -> None:
    """The artifact's code names the backend's class, so that the backend does the work."""
    name = f"__backends__.{backend}".encode()
    check(
        any(name in data for data in records(artifact.data).values()),
        f"nothing in the artifact hands the work to the class __torch__.torch.classes.__backends__.{backend}",
    )


def calls_of_twin(device: TorchScriptDevice, case: PreparedCase, variant: int) -> tuple[Call, ...]:
    """The calls of a case, with the results of its twin: the same module with other weights, not lowered."""
    twin = device.script(case, variant)
    return tuple(dataclasses.replace(call, expected=device.run_call(twin, call)[0]) for call in case.calls)


def in_turns(models: Sequence[tuple[Module, Sequence[Call]]]) -> list[tuple[Module, Call]]:
    """Calls of several modules in which no module is called twice in a row."""
    most = max(len(calls) for _, calls in models)
    return [(module, calls[turn % len(calls)]) for turn in range(most) for module, calls in models]


def assert_right_in_turns(
    device: TorchScriptDevice, models: Sequence[tuple[Module, Sequence[Call]]], where: str
) -> None:
    """Modules that are called in turns give right results, each of which is still right after the last call."""
    turns = in_turns(models)
    results = device.run_in_turns([module for module, _ in turns], [call for _, call in turns])
    for number, ((_, call), result) in enumerate(zip(turns, results, strict=True), start=1):
        assert_close(result, call.expected, f"{where}, call {number} of {len(turns)}")


def assert_same_process(found: Mapping[str, Any], expected: Mapping[str, Any], where: str, record: Record) -> None:
    """What other code in a process relies on has not changed; what else a backend has changed is reported."""
    names = {**expected, **found}
    own = {name for name in names if name in _OF_ITS_OWN or (name not in expected and not is_variable_of_others(name))}
    for graded, part in ((True, [name for name in names if name not in own]), (False, sorted(own))):
        mine, theirs = ({name: each[name] for name in part if name in each} for each in (found, expected))
        with contextlib.nullcontext() if graded else record.reporting():
            assert_equal(mine, theirs, where)


def assert_same_signatures(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """The same methods, with the same argument names and types and the same results; defaults are not compared."""
    check(sorted(found) == sorted(wanted), f"expected the methods {sorted(wanted)}, found {sorted(found)}")
    for method, signature in wanted.items():
        for part in ("arguments", "returns"):
            mine, theirs = found[method][part], signature[part]
            check(mine == theirs, f"{part} of {method}: expected {theirs}, found {mine}")


def assert_signs_of_zeros(case: PreparedCase, actual: Any, expected: Any, where: str) -> None:
    """In a case that needs ``non_finite``, zeros have the sign of the expected ones; a tolerance takes -0.0 for 0.0."""
    if "non_finite" not in {feature.name for feature in case_named(case.name, "torchscript").features}:
        return
    for index, (mine, theirs) in enumerate(zip(leaves_of(actual), leaves_of(expected), strict=True)):
        same = (mine != 0) | (theirs != 0) | (torch.signbit(mine) == torch.signbit(theirs))
        check(
            bool(same.all()),
            f"{where}, tensor {index}: expected zeros with signs as in {describe(theirs)}, found {describe(mine)}",
        )


def assert_clean_refusal(host: TorchScriptDevice, case: PreparedCase, backend: Description | None = None) -> None:
    """A model that needs an undeclared feature is refused, with an error that helps: see ``lowering.refusal``.

    ``backend`` says which features are undeclared; without it all are that the case needs.
    """
    model = case_named(case.name, "torchscript")
    lacking = [each for each in model.features if backend is None or not backend.has(each)]
    in_data = all(feature.shows_at == "run" for feature in lacking)
    optional = bool(lacking) and {each.name for each in lacking} <= {each.name for each in model.touches}
    original = host.script(case)
    lines = _lines_of_operators(host, original, case)
    try:
        lowered = host.lower(original)
    except SubjectError as error:
        if not in_data:
            _assert_shows_the_operator(error.text, lines)
        return
    if in_data or optional:
        _assert_refused_at_run(host, lowered, case, optional=optional)
        return
    missing = ", ".join(sorted(feature.name for feature in lacking))
    verdict = _judge_accepted(host, lowered, case)
    raise ConformanceFailure(f"{case.name} (needs {missing}) was accepted at lowering: {verdict}")


def _lines_of_operators(host: TorchScriptDevice, original: Module, case: PreparedCase) -> dict[str, set[str]]:
    """The lines of the model's source in which each operator stands."""
    lines: dict[str, set[str]] = {}
    for method in case.methods:
        for operator, places in host.graph_of(original, method)["lines"].items():
            lines.setdefault(operator, set()).update(places)
    return lines


def _assert_shows_the_operator(text: str, lines: dict[str, set[str]]) -> None:
    """The refusal names an operator of the model that it may refuse, and underlines a line in which that stands.

    The operators of the floor may be refused only in a model that has no other.
    """
    refusable = set(lines) - set(_FLOOR) or set(lines)
    named = sorted(refusable.intersection(_OPERATOR.findall(text)))
    check(bool(named), f"the refusal names none of {sorted(refusable)}: {text.strip():.300}")
    shown = set(underlined_lines(text))
    check(bool(shown), f"the refusal shows no line of the model (<--- HERE): {text.strip():.300}")
    # Nodes that PyTorch gives no position, such as prim::SetAttr, may show any line of the model.
    wanted = set().union(*(lines[name] or set().union(*lines.values()) for name in named))
    check(bool(shown & wanted), f"the refusal of {named} shows {sorted(shown)}, where {sorted(wanted)} was expected")


def _assert_refused_at_run(host: TorchScriptDevice, lowered: Any, case: PreparedCase, *, optional: bool) -> None:
    refusals = 0
    for call in case.calls:
        try:
            result = host.run_call(lowered, call)[0]
        except SubjectError:
            refusals += 1
            continue
        try:
            assert_close(result, call.expected, call.method)
        except ConformanceFailure as difference:
            raise ConformanceFailure(f"{case.name} is not refused but miscomputed: {difference}") from None
    check(refusals > 0 or optional, f"{case.name} is refused nowhere: {_OUT_OF_DATE}")


def _judge_accepted(host: TorchScriptDevice, lowered: Any, case: PreparedCase) -> str:
    try:
        for call in case.calls:
            assert_close(host.run_call(lowered, call)[0], call.expected, call.method)
    except SubjectError as error:
        return f"it fails only at run, with {error}"
    except ConformanceFailure as difference:
        return f"and miscomputed: {difference}"
    return _OUT_OF_DATE


def unmangled(qualified_name: str) -> str:
    """A type's name without the part by which TorchScript tells types of one name apart."""
    return re.sub(r"\.___torch_mangle_\d+", "", qualified_name)


def _with_decodings(data: bytes) -> bytes:
    """A record, and behind it what its long runs of base64 hold: backends pack their programs as text."""
    decoded = []
    for run in _BASE64.findall(data):
        with contextlib.suppress(ValueError):
            decoded.append(base64.b64decode(run[: len(run) // 4 * 4]))
    return b"\n".join([data, *decoded])


def assert_bundle(
    device: TorchScriptDevice, module: Module, samples: dict[str, list[tuple[Any, ...]]]
) -> dict[str, Any]:
    """Every function that reads bundled inputs gives these samples: number, order, values, dtypes, shapes. Returns all
    that they say."""
    found = device.read_bundle(module, list(samples))
    functions = found["functions_and_info"]
    check(
        sorted(functions) == sorted(samples),
        f"expected bundled inputs for {sorted(samples)}, found {sorted(functions)}",
    )
    for method, inputs in samples.items():
        reader = f"get_all_bundled_inputs_for_{method}"
        listed = functions[method].get("get_inputs_function_name")
        check(listed == [reader], f"the functions of {method} name {listed} as its reader, not {reader}")
        assert_equal(found["for"][method], list(inputs), f"{reader}()")
    if "forward" in samples:
        assert_equal(found["count"], len(samples["forward"]), "get_num_bundled_inputs()")
        assert_equal(found["all"], list(samples["forward"]), "get_all_bundled_inputs()")
    return found


def traces_of(identity: Identity, artifact: Artifact) -> dict[str, list[str]]:
    """What an artifact holds of the process that made it: ``{"a path": [...], "the id": [...]}``.

    Records with source positions for debugging are PyTorch's, and name the files of the model's own source. A short id,
    as processes have in a container, is not looked for: any small number would be it.
    """
    contents = {
        name: _with_decodings(data) for name, data in records(artifact.data).items() if not name.endswith(".debug_pkl")
    }
    pid = identity["pid"]
    folders = [folder.encode() for folder in identity["folders"]]
    long_enough = pid >= 1000
    return {
        "a path": [
            f"{each.decode(errors='replace')} in {name}"
            for name, data in contents.items()
            for each in dict.fromkeys([*(each for each in folders if each in data), *_paths_of_this_machine(data)])
        ],
        "the id": [f"{pid} in {name}" for name, data in contents.items() if long_enough and _names_process(data, pid)],
    }


#: Where every system has the same: what names a file there says nothing of who did.
_OF_EVERY_SYSTEM = ("bin", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr")
_ABSOLUTE_PATH = re.compile(rb"(?<![\w./:-])/[\w.+-]+(?:/[\w.+-]+)+")


def _paths_of_this_machine(data: bytes) -> list[bytes]:
    """What looks like an absolute path, and begins with folders that are there on this machine."""
    found = []
    for path in dict.fromkeys(_ABSOLUTE_PATH.findall(data)):
        place = Path(os.fsdecode(path))
        # unlike Path.is_dir, false for a name that is too long
        if place.parts[1] not in _OF_EVERY_SYSTEM and os.path.isdir(place.parent):
            found.append(path)
    return found


def _names_process(data: bytes, pid: int) -> bool:
    """Whether the id of a process is there: in decimal or hexadecimal, pickled, or as a whole number of 64 bits."""
    # A text in a pickle may be followed by a letter: the next opcode.
    texts = rb"(?<![0-9A-Za-z])(?:%d|0[xX]0*(?i:%x)|(?i:%08x))(?![0-9])" % (pid, pid, pid)
    short = b"M" + pid.to_bytes(2, "little") if pid < 2**16 else b"J" + pid.to_bytes(4, "little")
    return re.search(texts, data) is not None or short in data or pid.to_bytes(8, "little") in data
