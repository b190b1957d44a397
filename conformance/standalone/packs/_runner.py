"""The part of each pack that runs on the target: it asks what the pack says, each device a process of its own.

Copied into ``run.py``, with the verbs that the pack asks for and what they need. The names in :data:`PROVIDED` are that
script's own; here they only have types.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import importlib
import json
import os
import platform
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from conformance._util.processes import set_environment, tail
from conformance.devices.protocol import describe_exception, text_of
from conformance.standalone.packs._values import digest_of, from_json, to_json
from conformance.standalone.supervisor import AT_ITS_END, MOST_OUTPUT, Ending, Files, positive_seconds, supervise

BACKEND = ""
PACK_SHA256 = ""
VERBS: dict[str, Callable[..., Any]] = {}
PROVIDED = frozenset({"BACKEND", "PACK_SHA256", "VERBS", "PROVIDED"})


class Session:
    """The objects of a device, by their numbers."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._next = 0
        self.backend = types.SimpleNamespace(name=BACKEND)

    def module(self, number: int) -> Any:
        return self._objects[number]

    def keep(self, thing: Any) -> int:
        self._next += 1
        self._objects[self._next] = thing
        return self._next

    def discard(self, number: int) -> None:
        del self._objects[number]
        gc.collect()

    def clear(self) -> None:
        self._objects.clear()
        gc.collect()


def main() -> int:
    """Ask everything, and write what was answered. 0; 2 where that cannot be."""
    parser = argparse.ArgumentParser(description="Asks the backend on this machine what the pack says.")
    parser.add_argument("--library", action="append", default=[], metavar="PATH", help="registers the backend")
    parser.add_argument("--import", dest="module", action="append", default=[], metavar="MODULE", help="does so too")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go (default: results, beside this)")
    parser.add_argument(
        "--timeout", type=positive_seconds, default=60.0, metavar="S", help="for each request (default: 60)"
    )
    options = parser.parse_args()
    folder = Path(__file__).resolve().parent
    try:
        pack = _read_pack(folder)
        if not (options.library or options.module):
            raise ValueError("name what registers the backend: --library PATH, or --import MODULE")
        for library in options.library:
            if not Path(library).is_file():
                raise ValueError(f"there is no file {library}")
    except (OSError, ValueError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    options.library = [str(Path(library).resolve()) for library in options.library]
    out = options.out or folder / "results"
    (out / "values").mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    entries: dict[str, Any] = {}
    try:
        for number, (name, entry) in enumerate(pack["entries"].items(), start=1):
            entries[name] = _asked_in_a_process(entry, folder / "values", out / "values", options)
            print(f"[{number}/{len(pack['entries'])}] {name}: {_in_a_word(entries[name])}", flush=True)
    except KeyboardInterrupt:
        print("interrupted: the results hold what was answered so far", file=sys.stderr)
    text = json.dumps(entries, sort_keys=True)
    results = {
        "format": "torch-conformance-pack-results/1",
        "pack": PACK_SHA256,
        "target": {
            "torch": str(torch.__version__),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
        "sha256": digest_of(text.encode()),
        "entries": entries,
    }
    temporary = out / "results.json.unfinished"
    temporary.write_text(json.dumps(results, sort_keys=True))
    temporary.replace(out / "results.json")
    print(f"results: {out}")
    return 0


def _read_pack(folder: Path) -> Any:
    data = (folder / "pack.json").read_bytes()
    if hashlib.sha256(data).hexdigest() != PACK_SHA256:
        raise ValueError("pack.json is not the one that this script was written with; take the whole pack again")
    pack = json.loads(data)
    for name in pack["values"]:
        if digest_of((folder / "values" / name).read_bytes()) != name:
            raise ValueError(f"the value {name} is damaged; take the whole pack again")
    return pack


def _in_a_word(found: dict[str, Any]) -> str:
    last = found["answers"][-1] if found["answers"] else {}
    return f"{len(found['answers'])} answers" + (f", {last['ended']}" if "ended" in last else "")


def _asked_in_a_process(entry: Any, values: Path, out: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One device: its answers, the last of which may be how its process ended."""
    with contextlib.ExitStack() as opened:
        files = Files(*(opened.enter_context(tempfile.TemporaryFile()) for _ in range(4)))
        ending = supervise(
            lambda: _answer_all(entry, values, out, options, files), files, options.timeout, options.timeout
        )
        size = os.fstat(files.answers.fileno()).st_size
        lines = os.pread(files.answers.fileno(), size, 0).splitlines(keepends=True)
    answers = [json.loads(line) for line in lines if line.endswith(b"\n")]
    if ending.status is None or ending.flooded or len(answers) != len(entry["requests"]):
        is_leaving = len(answers) == len(entry["requests"]) - 1 and entry["requests"][-1][0] == "leave"
        answers.append(_ended(ending, options.timeout, is_leaving))
    return {"answers": answers}


def _ended(ending: Ending, seconds: float, is_leaving: bool) -> dict[str, Any]:
    """The end of a process, which may have been asked to leave, as an answer: the name of an exception of the harness,
    and its fields."""
    fields: dict[str, Any]
    if ending.flooded:
        kind, fields = "DeviceFlooded", {"limit": MOST_OUTPUT}
    elif is_leaving and ending.status == 0:
        kind, fields = "DeviceCutShort", {"status": 0}
    elif ending.status is not None:
        status = 0 if is_leaving and ending.status == AT_ITS_END else ending.status
        kind, fields = "DeviceDied", {"status": status, "left_processes": ending.left_processes}
    else:
        kind, fields = "DeviceTimeout", {"seconds": seconds}
    written = {"stdout": ending.stdout, "stderr": ending.stderr, "stack": ending.stack}
    return {"ended": kind, "fields": {**fields, **written, "context": ""}}


def _answer_all(entry: Any, values: Path, out: Path, options: argparse.Namespace, files: Files) -> None:
    """Be a device, until everything is answered or it is asked to leave."""
    set_environment(entry["environment"])
    session = Session()
    for verb, packed in entry["requests"]:
        if verb == "leave":
            session.clear()
            sys.exit(AT_ITS_END)
        arguments = from_json(packed, lambda name: (values / name).read_bytes())
        answer = _answer(session, verb, arguments, options if entry["has_backend"] else None, files)
        message = to_json(answer, lambda name, data: _store(out / name, data))
        files.answers.write(json.dumps(message).encode() + b"\n")
        files.answers.flush()


def _answer(
    session: Session, verb: str, arguments: dict[str, Any], options: argparse.Namespace | None, files: Files
) -> dict[str, Any]:
    started = time.perf_counter()
    before = [os.fstat(file.fileno()).st_size for file in (files.stdout, files.stderr)]
    value, raised = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if verb == "register":
                _register(options)
            elif verb == "release":
                session.clear()
            elif verb == "switch":
                set_environment(arguments["environment"])
            elif verb in VERBS:
                value = VERBS[verb](session, **arguments)
            else:
                return {"unable": f"the target of a pack cannot answer {verb!r}"}
        except Exception as error:
            raised = describe_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    reply = {
        "value": value,
        "raised": raised,
        "seconds": time.perf_counter() - started,
        "warnings": [f"{each.category.__name__}: {text_of(each.message)}" for each in caught],
        "stdout": tail(files.stdout, before[0]),
        "stderr": tail(files.stderr, before[1]),
        "peak_bytes": None,
    }
    return {"reply": reply}


def _register(options: argparse.Namespace | None) -> None:
    if options is not None:
        for library in options.library:
            torch.ops.load_library(library)
        for module in options.module:
            importlib.import_module(module)


def _store(path: Path, data: bytes) -> None:
    if not path.exists():
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(path)
