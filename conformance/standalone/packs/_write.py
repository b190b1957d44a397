"""Writing a pack: the cells run here once, and what their targets were asked is kept."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import conformance
from conformance.compare.comparison import comparing
from conformance.contract import Clause, Control, contract_digest, shipped_clauses, suite_function
from conformance.devices import ZygotePool
from conformance.devices._zygote import PINNED_ENVIRONMENT
from conformance.discovery.describing import Description
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.run_context import RunContext
from conformance.standalone.packs import _runner
from conformance.standalone.packs._recordings import PackRun, Recording, RecordingPool, SampleCalls
from conformance.standalone.packs._values import digest_of, to_json
from conformance.standalone.reproducers._assembly import used_imports
from conformance.standalone.reproducers._sources import Collection
from conformance.standalone.reproducers.kit import kit_of
from conformance.toolchains import toolchain_named

FORMAT = "torch-conformance-pack/1"
PACK, HOST, SCRIPT, VALUES = "pack.json", "host.json", "run.py", "values"
#: Hundreds of damaged artifacts each, which tell little about a machine; and artifacts that lie elsewhere.
LEFT_OUT = frozenset(
    {"save-load.damaged", "save-load.damaged-container", "lite.damaged", "lite.damaged-container", "save-load.goldens"}
)
#: What the script does itself, or what only an author's class could.
_OWN_VERBS = frozenset({"register", "release", "leave", "switch", "received_spec", "given_spec", "preprocess_count"})


class PackError(Exception):
    """A pack or its results cannot be written or read; the text says what was expected and found."""


def has_target(clause: Clause) -> bool:
    """Whether the clause asks something of a target that a chosen kind of target stands for."""
    return toolchain_named(clause.toolchain).can_pack and not {"target", "bare"}.isdisjoint(suite_function(clause)[1])


def packed_clauses() -> list[Clause]:
    """The clauses whose cells a pack has."""
    return [
        each
        for each in shipped_clauses()
        if has_target(each) and "native" not in suite_function(each)[1] and each.id not in LEFT_OUT
    ]


def write_pack(
    pool: ZygotePool,
    seed: int,
    description: Description,
    folder: Path,
    clauses: Sequence[Clause],
    say: Callable[[str], None],
) -> int:
    """Write a pack into a new ``folder``, which is there once it is whole; how many cells it has. Raises PackError."""
    if not toolchain_named(description.toolchain).can_pack:
        raise PackError(
            f"backends of the toolchain {description.toolchain}, such as {description.source.name!r}, cannot be packed"
        )
    with _new_folder(folder) as unfinished:
        return _write_into(unfinished, pool, seed, description, clauses, say)


@contextlib.contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` that becomes it at the end of the block; of one that was left early nothing stays."""
    with contextlib.ExitStack() as opened:
        try:
            with contextlib.suppress(FileNotFoundError):
                os.lstat(folder)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            folder.parent.mkdir(parents=True, exist_ok=True)
            around = tempfile.TemporaryDirectory(dir=folder.parent, prefix=".torch-conformance.")
            unfinished = Path(opened.enter_context(around), "pack")
            (unfinished / VALUES).mkdir(parents=True)
        except OSError as error:
            raise PackError(f"a pack needs a new folder, and {folder} cannot be made: {error.strerror}") from error
        yield unfinished
        try:
            unfinished.rename(folder)
        except OSError as error:
            raise PackError(f"the pack cannot be moved to {folder}: {error.strerror}") from error


def _put(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise PackError(f"the pack cannot be written: {error.strerror}") from error


def _write_into(
    folder: Path,
    pool: ZygotePool,
    seed: int,
    description: Description,
    clauses: Sequence[Clause],
    say: Callable[[str], None],
) -> int:
    hosts, targets, samples = RecordingPool(pool), RecordingPool(pool), SampleCalls()
    public = _without_paths_of_here(description)
    run = PackRun(pool, seed, {description.source.name: public}, hosts=hosts, targets=targets, pack_samples=samples)
    values: dict[str, None] = {}

    def store(name: str, data: bytes) -> None:
        if name not in values:
            values[name] = None
            _put(folder / VALUES / name, data)

    entries: dict[str, Any] = {}
    cells: dict[str, Any] = {}
    verbs: set[str] = set()
    for clause in clauses:
        say(clause.id)
        for cell in cells_of(clause, description):
            if cell.decided is not None:
                continue
            found: dict[str, Any] = {}
            for who, context in _contexts(run, cell, description):
                outcome = _attempt(context, cell)
                host_recordings, target_recordings = hosts.take(), targets.take()
                found[who] = {
                    "host": [_recording_row(each, store, public, answers=True) for each in host_recordings],
                    "target": [],
                    "verdict": [outcome.verdict.value, outcome.phase],
                }
                for number, recording in enumerate(target_recordings, start=1):
                    name = f"{cell.id} {who} {number}"
                    found[who]["target"].append(name)
                    entries[name] = _recording_row(recording, store, public, answers=False)
                    verbs |= {verb for verb, _ in recording.requests}
            cells[cell.id] = found
    # What the target does not read: what the host said, and what is expected.
    host = {
        "format": FORMAT,
        "harness": conformance.__version__,
        "contract": contract_digest(),
        "torch": metadata.version("torch"),
        "seed": seed,
        "description": to_json(public.as_message(), store),
        "samples": to_json(samples.rows, store),
        "cells": cells,
    }
    host_data = json.dumps(host).encode()
    pack = {"format": FORMAT, "host": digest_of(host_data), "entries": entries, "values": sorted(values)}
    pack_data = json.dumps(pack).encode()
    _put(folder / HOST, host_data)
    _put(folder / PACK, pack_data)
    _put(folder / SCRIPT, _script(description, digest_of(pack_data), verbs).encode())
    return len(cells)


def _attempt(context: CellContext, cell: Cell) -> Any:
    function, names = suite_function(cell.clause)
    with comparing(context.backend.tolerances):
        return context.attempt(function, context.parts(names))


def _contexts(run: RunContext, cell: Cell, description: Description) -> list[tuple[str, CellContext]]:
    contexts = [("backend", CellContext(run, cell, description))]
    if cell.clause.control is Control.SAME_CELL:
        contexts.append(("control", CellContext(run, cell, None)))
    return contexts


def _without_paths_of_here(description: Description) -> Description:
    source = dataclasses.replace(description.source, library="")
    return dataclasses.replace(description, source=source, prepared={}, libraries=(), goldens=None)


def _recording_row(
    recording: Recording, store: Callable[[str, bytes], None], public: Description, *, answers: bool
) -> dict[str, Any]:
    states = {name for state in public.states.values() for name in state or ()}
    return {
        "has_backend": recording.has_backend,
        "environment": {name: value for name, value in recording.environment.items() if name in states},
        "requests": [[verb, to_json(arguments, store)] for verb, arguments in recording.requests],
        **({"answers": [to_json(each, store) for each in recording.answers]} if answers else {}),
    }


def _script(backend: Description, pack_sha256: str, verbs: set[str]) -> str:
    """``run.py``: the runner, the verbs that the pack asks for, and what they need of the harness."""
    collection = Collection(_runner.PROVIDED)
    kit = kit_of(backend.toolchain)
    assert kit is not None, "what can be packed has verbs to copy"
    table_of_verbs = kit.verbs()
    wanted = sorted(verbs & set(table_of_verbs.names()) - _OWN_VERBS)
    for name in wanted:
        collection.add(table_of_verbs.named(name).__module__, name)
    collection.add_all(_runner.__name__)
    table = ", ".join(f'"{name}": {name}' for name in wanted)
    constants = f"BACKEND = {backend.name!r}\nPACK_SHA256 = {pack_sha256!r}"
    body = "\n\n\n".join([constants, *collection.texts(), f"VERBS = {{{table}}}"])
    imports = "\n\n".join(filter(None, used_imports(collection.imports, body)))
    pinned = f"os.environ.update({json.dumps(PINNED_ENVIRONMENT)})  # before torch is imported"
    docstring = (
        '"""Asks a backend on this machine what a pack of torch-conformance says; it needs torch and nothing else.\n\n'
        '    python run.py --library PATH\n"""'
    )
    return (
        f"{docstring}\n\nfrom __future__ import annotations\n\nimport os\n\n{pinned}\n\n{imports}\n\n\n{body}\n\n\n"
        'if __name__ == "__main__":\n    raise SystemExit(main())\n'
    )
