"""The backends that can be chosen, and which of them a name means."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.api.errors import DeviceEnded, SubjectError
from conformance.devices import ZygotePool
from conformance.discovery.describing import Candidate, SelectionError, discovery, examine, remembered_toolchain
from conformance.discovery.names import module_sources, saboteur_sources, text_of_unknown, torchs_own
from conformance.toolchains import Source, installed_sources, toolchains

#: Characters of a set of options that may stand in the name of a report as they are, and how many of them.
_PLAIN = re.compile(r"[A-Za-z0-9_.=+-]{1,40}")


def sources(pool: ZygotePool, *, every: bool = False) -> tuple[list[Source], list[str]]:
    """Where every backend comes from that could be chosen by name, asking none of them.

    Those that PyTorch brings along for debugging and testing are among them only if ``every`` is true; else their names
    are returned, as the second value.
    """
    found, left_out = list(installed_sources()), []
    for toolchain in toolchains():
        found += toolchain.sources()
        for source, tags in torchs_own(toolchain, pool).items():
            if tags and not every:
                left_out.append(source.name)
            else:
                found.append(source)
    return _once(found), left_out


def _once(found: Sequence[Source]) -> list[Source]:
    """Without those that are registered and have a class too, where it is known of which toolchain that is."""
    declared = {
        (remembered_toolchain(source), source.name) for source in found if source.value and not source.toolchain
    }
    return [source for source in found if not source.toolchain or (source.toolchain, source.name) not in declared]


def candidates(pool: ZygotePool, *, every: bool = False) -> tuple[list[Candidate], list[str]]:
    """The same, each examined without preparing it."""
    found, left_out = sources(pool, every=every)
    examined = [examine(source, pool, prepare=False) for source in found if not source.toolchain]
    declared = {
        (each.description.toolchain, each.description.name) for each in examined if each.description is not None
    }
    others = [source for source in found if source.toolchain and (source.toolchain, source.name) not in declared]
    return examined + [examine(source, pool, prepare=False) for source in others], left_out


def library_sources(library: Path, pool: ZygotePool, *, option: str = "--conformance-library") -> list[Source]:
    """The backends that a library registers, found by loading it in a child.

    Raises SelectionError when the file is missing, does not load, or registers none; ``option`` is what named it.
    """
    try:
        is_there = library.is_file()
    except OSError as error:  # its name is too long, or nobody may look into its folder
        raise SelectionError(f"{option}: {library} cannot be read: {error.strerror}") from error
    if not is_there:
        raise SelectionError(f"{option}: there is no file {library}; give the path of a shared library")
    hints = []
    for toolchain in toolchains():
        if not toolchain.library_hint or toolchain.lacking():
            continue
        source = Source(name="", library=str(library.resolve()), toolchain=toolchain.name)
        names = _registered_by(source, pool, option)
        if names:
            return [dataclasses.replace(source, name=name) for name in names]
        hints.append(toolchain.library_hint)
    raise SelectionError(f"{option}: {library.name} loads, but {'; and it '.join(hints)}")


def _registered_by(source: Source, pool: ZygotePool, option: str) -> list[str]:
    """The names that a library registers. Raises SelectionError when it does not load."""
    device = discovery(source, pool)
    try:
        names: list[str] = device.call("load", phase="load")
        device.release()
    except (SubjectError, DeviceEnded) as error:
        raise SelectionError(
            f"{option}: {Path(source.library).name} does not load: {error}. "
            "Was it built for this version of torch and of Python?"
        ) from error
    finally:
        device.end()
    return names


def select(
    names: Sequence[str],
    library: Path | None,
    pool: ZygotePool,
    compile_options: Sequence[dict[str, Any]] = (),
) -> list[Candidate]:
    """The backends of those names (all that the library registers when there are none), examined and prepared.

    ``TOOLCHAIN:NAME`` tells two of one name apart; ``MODULE:NAME`` means one that the module registers, or has as an
    author's class or as a function. ``compile_options`` replace those of each backend, which is chosen once for each
    set of them. Raises SelectionError for a name that nothing provides or that means several backends, and for options
    that nothing takes.
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
    if in_module := module_sources(toolchain, name):
        return examine(_class_or_registered(in_module[0], pool), pool, prepare=True)
    sources = [source for source in libraries if source.name == name]
    if not sources:
        known = (*installed_sources(), *(each for stack in toolchains() for each in stack.sources()))
        sources = [source for source in known if source.name == name]
    for stack in toolchains():
        if not sources or toolchain == stack.name:
            sources += [source for source in torchs_own(stack, pool) if source.name == name]
    if not sources:
        with contextlib.suppress(SelectionError):  # saboteurs that cannot be imported hide nothing else
            sources = saboteur_sources(name, pool)
    by_toolchain: dict[str, Source] = {}
    for source in sources:  # classes come first, and win over what is registered without one
        own = _toolchain_of(source, pool) if len(sources) > 1 or toolchain else ""
        first = by_toolchain.setdefault(own, source)
        if first.value and source.value and first != source:
            raise SelectionError(_twice_text(name, own, (first, source)))
    fitting = {each: source for each, source in by_toolchain.items() if toolchain in ("", each)}
    if not fitting:
        raise SelectionError(_unknown_text(wanted, sorted(by_toolchain), pool))
    if len(fitting) > 1:
        forms = " or ".join(f"--backend={each}:{name}" for each in sorted(fitting))
        raise SelectionError(f"there are backends named {name!r} in several toolchains; say {forms}")
    candidate = examine(next(iter(fitting.values())), pool, prepare=True)
    return candidate if len(by_toolchain) == 1 else _renamed(candidate, f"{toolchain}-{name}")


def _class_or_registered(source: Source, pool: ZygotePool) -> Source:
    """The source as it is, or that of the author's class if it is what the module has by the name."""
    device = discovery(source, pool)
    try:
        has_class = device.call("has_class", phase="import")
        device.release()
    except (SubjectError, DeviceEnded):
        return source  # why it cannot be imported is told by whoever examines it
    finally:
        device.end()
    return dataclasses.replace(source, value=source.found_as, toolchain="") if has_class else source


def _twice_text(name: str, toolchain: str, found: Sequence[Source]) -> str:
    where = " and ".join(f"{each.value} of {each.distribution} {each.version}".strip() for each in found)
    return (
        f"two plugins bring a backend named {name!r} of the toolchain {toolchain}: {where}. Uninstall one of them, or "
        "give one another name in its entry points"
    )


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
    taking = [each for each in toolchains() if each.takes_options]
    if toolchain not in [each.name for each in taking]:
        raise SelectionError(
            f"--conformance-compile-options is for {' and '.join(each.summary for each in taking)}; "
            f"{candidate.source.name!r} is of the toolchain {toolchain or '(unknown)'}"
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


def _unknown_text(wanted: str, found_in: Sequence[str], pool: ZygotePool) -> str:
    toolchain, _, name = wanted.rpartition(":")
    if found_in:
        return f"the backend {name!r} is of the toolchain {' and '.join(found_in)}, not of {toolchain!r}"
    by_toolchain = [each for stack in toolchains() for each in (*stack.sources(), *torchs_own(stack, pool))]
    return text_of_unknown(wanted, {source.name for source in (*installed_sources(), *by_toolchain)})


__all__ = ["SelectionError", "candidates", "library_sources", "select", "sources", "torchs_own"]
