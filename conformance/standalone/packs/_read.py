"""Results of a pack: read with suspicion, and judged by the clauses themselves."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jsonschema

import conformance
from conformance.api import errors
from conformance.api.errors import DeviceEnded
from conformance.api.verdicts import Verdict
from conformance.contract import Level, contract_digest, suite_function
from conformance.devices import Limits, ZygotePool
from conformance.devices._child import Reply
from conformance.discovery.describing import Description
from conformance.report import ReportError, assemble
from conformance.report._json import parse, read_bytes
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.running import run_cell
from conformance.standalone.packs._recordings import PackRun, Recording, ReplayPool, SampleCalls
from conformance.standalone.packs._values import digest_of, from_json
from conformance.standalone.packs._write import FORMAT, HOST, PACK, VALUES, PackError, has_target, packed_clauses

RESULTS_FORMAT = "torch-conformance-pack-results/1"
#: What the results say of the target.
_TARGET = ("torch", "python", "platform")
_LARGEST_VALUE = 256 * 2**20
#: Of all that the target answered; a pack of the whole contract has some megabytes.
_MOST_BYTES = 2 * 2**30
_REPLY_FIELDS = {each.name for each in dataclasses.fields(Reply)}
_KEPT = {Verdict.UNSUPPORTED.value, Verdict.NOT_APPLICABLE.value, Verdict.NOT_EXERCISED.value}


_RESULTS = {
    "type": "object",
    "properties": {
        "format": {"const": RESULTS_FORMAT},
        "pack": {"type": "string"},
        "sha256": {"type": "string"},
        "target": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in _TARGET},
            "required": list(_TARGET),
        },
        "entries": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"answers": {"type": "array", "items": {"type": ["object", "array"]}}},
                "required": ["answers"],
            },
        },
    },
    "required": ["format", "pack", "sha256", "target", "entries"],
}


class _Values:
    """The files of a folder by the digests that are their names."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._bytes = 0

    def __call__(self, name: str) -> bytes:
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            raise PackError(f"{name!r:.80} is no digest")
        for folder in self._folders:
            path = folder / name
            if path.exists():
                data = read_bytes(path, _LARGEST_VALUE)
                self._bytes += len(data)
                if self._bytes > _MOST_BYTES:
                    raise PackError(f"the results hold more than {_MOST_BYTES >> 30} GiB, which no target answers")
                if digest_of(data) != name:
                    raise PackError(f"the value {name} is not what it was when it was written")
                return data
        raise PackError(f"the value {name} is missing")


class _Pack:
    """The host's half of a pack, and the digest of the half that went to the target."""

    def __init__(self, folder: Path) -> None:
        pack_data, host_data = read_bytes(folder / PACK), read_bytes(folder / HOST)
        pack, self.host = parse(pack_data, PACK), parse(host_data, HOST)
        for name, document in ((PACK, pack), (HOST, self.host)):
            if not isinstance(document, dict) or document.get("format") != FORMAT:
                raise PackError(f"{name} is not of the format {FORMAT}")
        if pack["host"] != digest_of(host_data):
            raise PackError(f"{HOST} does not belong to {PACK}: one of them was changed")
        self.digest = digest_of(pack_data)
        self.entries: dict[str, Any] = pack["entries"]
        self.values = _Values(folder / VALUES)
        for what, here in (("harness", conformance.__version__), ("contract", contract_digest())):
            if self.host[what] != here:
                raise PackError(f"the pack was written by another {what} ({self.host[what]}, here {here})")
        self.description = Description.from_message(from_json(self.host["description"], self.values))

    def recording(self, row: dict[str, Any], answers: list[Any]) -> Recording:
        requests = [(verb, from_json(arguments, self.values)) for verb, arguments in row["requests"]]
        return Recording(row["has_backend"], row["environment"], requests, answers)


def unpacked_report(folder: Path, results: Path, report: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """``report``, of a run on the host, with the cells that have a target judged by what came back from another one.

    ``folder`` is the pack, ``results`` what its script wrote. Also returns the entries that the results lack. Raises
    PackError and ReportError for what does not belong together, was changed, or is no such thing.
    """
    try:
        pack = _Pack(folder)
        found = _read_results(results / "results.json", pack.digest)
        _expect_same_run(pack, report)
        rows = _judged(pack, found["entries"], _Values(results / VALUES))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PackError(f"the pack or its results are damaged: {type(error).__name__}: {error}") from error
    missing = [name for name in pack.entries if name not in found["entries"]]
    targets = {each.id for each in packed_clauses()}
    clauses = {each.id: each for each in _shipped() if has_target(each)}
    cells = [_row(row, rows, clauses, targets) for row in report["cells"]]
    head = {name: report[name] for name in ("run", "harness", "environment", "backend")}
    head["run"] = {name: value for name, value in head["run"].items() if name != "complete"}
    head["target"] = {
        "spec": "pack",
        **{name: found["target"][name][:100] for name in _TARGET},
    }
    level = Level(report["certification"]["level"])
    merged = assemble(head, report["clauses"], cells, report["plan"]["deselected"], level)
    return merged, missing


def _shipped() -> Any:
    from conformance.contract import shipped_clauses

    return shipped_clauses()


def _row(row: dict[str, Any], rows: dict[str, Any], clauses: dict[str, Any], packed: set[str]) -> dict[str, Any]:
    if row["clause"] not in clauses:
        return row
    if row["id"] in rows:
        return rows[row["id"]]  # type: ignore[no-any-return]
    if row["verdict"] in _KEPT:
        return row
    why = "the pack was written without this cell" if row["clause"] in packed else "a pack does not hold such cells"
    kept = {name: row[name] for name in ("id", "clause", "suite", "level", "case", "runtime", "host", "target")}
    return kept | {"verdict": Verdict.NOT_EXERCISED.value, "phase": "", "message": why, "seconds": {}}


def _read_results(path: Path, pack: str) -> dict[str, Any]:
    import json

    found: dict[str, Any] = parse(read_bytes(path), path.name)
    fault = next(jsonschema.Draft202012Validator(_RESULTS).iter_errors(found), None)
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path) or "the top level"
        raise PackError(f"{path.name} is not of the format {RESULTS_FORMAT}: at {place}: {fault.message:.300}")
    if found["pack"] != pack:
        raise PackError(f"{path.name} is of another pack: run run.py of this one on the target")
    if digest_of(json.dumps(found["entries"], sort_keys=True).encode()) != found["sha256"]:
        raise PackError(f"{path.name} was changed after run.py wrote it: its digest is another")
    return found


def _expect_same_run(pack: _Pack, report: dict[str, Any]) -> None:
    backend, description = report["backend"], pack.description
    pairs = (
        ("backend", backend["entry_point"], description.source.found_as),
        ("version of the backend", backend["version"], description.source.version),
        ("files of the backend", list(backend["files"]), list(description.files)),
        ("contract", report["harness"]["contract"]["sha256"], pack.host["contract"]),
        ("seed", report["run"]["seed"], pack.host["seed"]),
        ("torch of the host", report["environment"]["torch"], pack.host["torch"]),
    )
    for what, one, two in pairs:
        if one != two:
            raise PackError(f"the report and the pack are of different runs: {what}: {one!s:.80} and {two!s:.80}")


def _judged(pack: _Pack, entries: dict[str, Any], values: _Values) -> dict[str, dict[str, Any]]:
    """Cell id → row: each clause is run again, with the host's answers of then and the target's from elsewhere."""
    hosts, targets = ReplayPool("host"), ReplayPool("target")
    samples = SampleCalls(from_json(pack.host["samples"], pack.values))
    pool = ZygotePool(Limits())
    description = pack.description
    run = PackRun(
        pool,
        pack.host["seed"],
        {description.source.name: description},
        hosts=hosts,
        targets=targets,
        pack_samples=samples,
    )
    rows = {}
    try:
        for clause in packed_clauses():
            function, names = suite_function(clause)
            for cell in cells_of(clause, description):
                recorded = pack.host["cells"].get(cell.id)
                if cell.decided is not None or recorded is None:
                    continue

                own = CellContext(run, cell, description)

                def arguments(
                    context: CellContext,
                    own: CellContext = own,
                    recorded: Any = recorded,
                    names: tuple[str, ...] = names,
                ) -> dict[str, Any]:
                    # Asked for once for each context: the backend's own, then the control's.
                    asked_of = recorded["backend" if context is own else "control"]
                    hosts.replay(
                        [pack.recording(row, _answers(row["answers"], pack.values)) for row in asked_of["host"]]
                    )
                    asked = [(name, entries.get(name, {}).get("answers", [])) for name in asked_of["target"]]
                    targets.replay(
                        [pack.recording(pack.entries[name], _answers(found, values)) for name, found in asked]
                    )
                    return context.parts(names)

                rows[cell.id] = run_cell(run, own, function, arguments).as_row()
    finally:
        run.close()
    return rows


def _answers(packed: list[Any], values: _Values) -> list[dict[str, Any]]:
    answers = [from_json(each, values) if isinstance(each, list) else each for each in packed]
    for each in answers:
        if "reply" in each:
            reply = each["reply"]
            raised = reply["raised"]
            if set(reply) != _REPLY_FIELDS or not (raised is None or {"type", "bases", "text"} <= set(raised)):
                raise ValueError("an answer that no device gives")
        elif "ended" in each:
            kind = getattr(errors, str(each["ended"]), None)
            if not (isinstance(kind, type) and issubclass(kind, DeviceEnded) and kind is not DeviceEnded):
                raise ValueError(f"{each['ended']!r:.40} is no end of a process")
            kind(phase="", **each["fields"])
        elif not isinstance(each.get("unable"), str):
            raise ValueError("an answer that no device gives")
    return answers


__all__ = ["PackError", "ReportError", "unpacked_report"]
