"""The backends that can be chosen, and which of them a name means."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.catalogue import Candidate, SelectionError, discovery, examine, known_saboteurs
from conformance.devices import ZygotePool
from conformance.errors import DeviceEnded, SubjectError
from conformance.registry import Source, dynamo_sources, installed_sources

#: Characters of a set of options that may stand in the name of a report as they are, and how many of them.
_PLAIN = re.compile(r"[A-Za-z0-9_.=+-]{1,40}")


def candidates(pool: ZygotePool, *, every: bool = False) -> tuple[list[Candidate], list[str]]:
    """Every backend that could be chosen by name, examined without preparing it.

    Those that PyTorch brings along for debugging and testing are examined only if ``every`` is true; else their names
    are returned, as the second value.
    """
    found = [examine(source, pool, prepare=False) for source in installed_sources()]
    declared = {
        each.description.name
        for each in found
        if each.description is not None and each.description.toolchain == "dynamo"
    }
    registered = [source for source in dynamo_sources() if source.name not in declared]
    left_out = []
    for source, tags in torchs_own(pool).items():
        if tags and not every:
            left_out.append(source.name)
        elif source.name not in declared:
            registered.append(source)
    return found + [examine(source, pool, prepare=False) for source in registered], left_out


def torchs_own(pool: ZygotePool) -> dict[Source, list[str]]:
    """The backends that PyTorch itself brings for ``torch.compile``, with their tags. Imports no vendor's module."""
    from importlib import metadata

    device = discovery(None, pool, "dynamo")
    try:
        known = device.call("known_to_dynamo", phase="import")
    finally:
        device.end()
    elsewhere = {source.name for source in dynamo_sources()}
    version = metadata.version("torch")
    return {
        Source(name, distribution="torch", version=version, toolchain="dynamo"): tags
        for name, tags in known.items()
        if name not in elsewhere
    }


def library_sources(library: Path, pool: ZygotePool, *, option: str = "--conformance-library") -> list[Source]:
    """The backends that a TorchScript library registers, found by loading it in a child.

    Raises SelectionError when the file is missing, does not load, or registers none; ``option`` is what named it.
    """
    if not library.is_file():
        raise SelectionError(f"{option}: there is no file {library}; give the path of a shared library")
    source = Source(name="", library=str(library.resolve()))
    device = discovery(source, pool)
    try:
        names = device.call("load", phase="load")
        device.release()
    except (SubjectError, DeviceEnded) as error:
        raise SelectionError(
            f"{option}: {library.name} does not load: {error}. Was it built for this version of torch and of Python?"
        ) from error
    finally:
        device.end()
    if not names:
        raise SelectionError(
            f"{option}: {library.name} loads, but registers no TorchScript backend "
            "(a static torch::jit::backend<...> object in it would)"
        )
    return [dataclasses.replace(source, name=name) for name in names]


def select(
    names: Sequence[str],
    library: Path | None,
    pool: ZygotePool,
    compile_options: Sequence[dict[str, Any]] = (),
) -> list[Candidate]:
    """The backends of those names (all that the library registers when there are none), examined and prepared.

    ``dynamo:NAME`` and ``torchscript:NAME`` tell two of one name apart. ``compile_options`` replace those of each
    ``torch.compile`` backend, which is chosen once for each set of them. Raises SelectionError for a name that nothing
    provides or that means several backends, and for options that nothing takes.
    """
    libraries = library_sources(library, pool) if library is not None else []
    if not names:
        names = sorted(source.name for source in libraries)
    chosen: list[Candidate] = []
    for name in dict.fromkeys(names):
        candidate = _meant_by(name, libraries, pool)
        chosen += _with_options(candidate, compile_options)
    return chosen


def _meant_by(wanted: str, libraries: Sequence[Source], pool: ZygotePool) -> Candidate:
    """The one backend that a name means, prepared."""
    toolchain, _, name = wanted.rpartition(":")
    sources = [source for source in libraries if source.name == name]
    if not sources:
        sources = [source for source in (*installed_sources(), *dynamo_sources()) if source.name == name]
    if not sources or toolchain == "dynamo":
        sources += [source for source in torchs_own(pool) if source.name == name]
    if not sources:
        with contextlib.suppress(SelectionError):  # saboteurs that cannot be imported hide nothing else
            sources = [each.source for each in known_saboteurs(pool) if each.source.name == name]
    by_toolchain: dict[str, Source] = {}
    for source in sources:  # classes come first, and win over what is registered without one
        by_toolchain.setdefault(_toolchain_of(source, pool) if len(sources) > 1 or toolchain else "", source)
    fitting = {each: source for each, source in by_toolchain.items() if toolchain in ("", each)}
    if not fitting:
        raise SelectionError(_unknown_text(wanted, sorted(by_toolchain), pool))
    if len(fitting) > 1:
        forms = " or ".join(f"--backend={each}:{name}" for each in sorted(fitting))
        raise SelectionError(f"there are backends named {name!r} in several toolchains; say {forms}")
    candidate = examine(next(iter(fitting.values())), pool, prepare=True)
    return candidate if len(by_toolchain) == 1 else _renamed(candidate, f"{toolchain}-{name}")


def _toolchain_of(source: Source, pool: ZygotePool) -> str:
    if source.toolchain:
        return source.toolchain
    description = examine(source, pool, prepare=False).description
    return description.toolchain if description else "(unknown)"


def _renamed(candidate: Candidate, name: str, options: dict[str, Any] | None = None) -> Candidate:
    """The same backend under another name in this run, and with other options."""
    source = candidate.source
    source = dataclasses.replace(source, name=name, registered=source.registered or source.name)
    if options is not None:
        source = dataclasses.replace(source, options=options)
    description = candidate.description
    if description is not None:
        description = dataclasses.replace(description, source=source, options=source.options or description.options)
    return dataclasses.replace(candidate, source=source, description=description)


def _with_options(candidate: Candidate, compile_options: Sequence[dict[str, Any]]) -> list[Candidate]:
    if not compile_options or not candidate.usable:  # what is wrong with it comes before what it takes
        return [candidate]
    toolchain = candidate.description.toolchain if candidate.description else candidate.source.toolchain
    if toolchain != "dynamo":
        raise SelectionError(
            f"--conformance-compile-options is for torch.compile backends; {candidate.source.name!r} is of the "
            f"toolchain {toolchain or '(unknown)'}"
        )
    return [_renamed(candidate, f"{candidate.source.name}{_suffix(options)}", options) for options in compile_options]


def _suffix(options: dict[str, Any]) -> str:
    """What tells an entry with these options from others; readable where they are few and simple."""
    if not options:
        return ""
    plain = "+".join(f"{name}={value}" for name, value in sorted(options.items()))
    if _PLAIN.fullmatch(plain):
        return f"+{plain}"
    return f"+options-{hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:8]}"


def _unknown_text(wanted: str, toolchains: Sequence[str], pool: ZygotePool) -> str:
    toolchain, _, name = wanted.rpartition(":")
    if toolchains:
        return f"the backend {name!r} is of the toolchain {' and '.join(toolchains)}, not of {toolchain!r}"
    sources = (*installed_sources(), *dynamo_sources(), *torchs_own(pool))
    known = sorted({source.name for source in sources if not source.name.endswith("_TESTING_ONLY")})
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return (
        f"there is no backend named {wanted!r}.{hint} Known here: {', '.join(known)}. A backend is found by an entry "
        "point of the group 'conformance_backends' or 'torch_dynamo_backends', in PyTorch's own registry, or by "
        "--conformance-library=PATH; --list-backends shows details."
    )


__all__ = ["SelectionError", "candidates", "library_sources", "select", "torchs_own"]
