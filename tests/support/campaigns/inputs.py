"""Changed reports, certificates, expectations, golden sets and packs, put before whatever reads such."""

from __future__ import annotations

import base64
import contextlib
import datetime
import functools
import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import tomlkit

from conformance.api.errors import GoldensError
from conformance.expectations import (
    DEFAULT,
    BackendRun,
    Expectations,
    ExpectationsError,
    ExpectationsFile,
    InstalledBackend,
    learn,
    read_entries,
    read_text,
)
from conformance.extensions import resolve
from conformance.toolchains import default_toolchain
from support.campaigns.changes import changed, damaged
from support.campaigns.desk import (
    EXPECTATIONS,
    check,
    contract_of_the_desk,
    furnish,
    furnish_with_artifacts,
    readers,
    reassembled,
    writers,
)
from support.campaigns.watch import Watch

#: How many of each hundred inputs are of a kind.
SHARES = {"reports": 50, "certificates": 20, "expectations": 15, "goldens": 7, "packs": 8}
_READERS_OF_EACH = 2


def campaign(number: int, seed: int, kinds: tuple[str, ...] = tuple(SHARES), again: str = "") -> Watch:
    """Try so many inputs of these kinds, each of which is drawn from the seed and its own number; or that one ``again``
    whose name this is."""
    names = [f"{kind} {seed}/{place}" for place, kind in enumerate(kinds_of(number, kinds))]
    tried = [again] if again else names
    watch = Watch()
    with tempfile.TemporaryDirectory() as name, contract_of_the_desk(), _quiet():
        desk = furnish(Path(name))
        if {"goldens", "packs"} & {who.split()[0] for who in tried}:
            furnish_with_artifacts(desk)
        for who in tried:
            work = Path(desk, "work")
            work.mkdir(exist_ok=True)
            kind = who.split()[0]
            watch.attempt(kind, who, functools.partial(_TRIED[kind], Random(who), desk, work))
    return watch


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What commands say goes nowhere."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def kinds_of(number: int, kinds: tuple[str, ...]) -> Iterator[str]:
    """The kind of each input: one after the other, each as often as its share says."""
    total = sum(SHARES[kind] for kind in kinds)
    for kind in kinds:
        yield from [kind] * round(number * SHARES[kind] / total)


def document_bytes(random: Random, document: dict[str, Any]) -> bytes:
    """A changed document, of some of which the bytes are damaged besides."""
    document = changed(random, document, random.choice([1, 1, 3]))
    if random.random() < 0.5 and isinstance(document, dict) and "cells" in document:
        document = _told_again(document)
    content = json.dumps(document).encode()
    return damaged(random, content) if random.random() < 0.15 else content


def _told_again(document: dict[str, Any]) -> dict[str, Any]:
    """What follows from the cells made to follow again, so that a change of them gets past the checks."""
    try:
        return reassembled(document)
    except Exception:  # what it is cannot be put together: then it is tried as it is
        return document


def _report(random: Random, desk: Path, work: Path) -> str:
    document = json.loads((desk / random.choice(["good.json", "failing.json"])).read_bytes())
    return _before_readers(random, desk, work, document_bytes(random, document), makes_more=True)


def _certificate(random: Random, desk: Path, work: Path) -> str:
    document = json.loads((desk / random.choice(["certificate.json", "signed.json"])).read_bytes())
    if "payload" in document and random.random() < 0.7:  # within what is signed, as a forger would who has no key
        document["payload"] = base64.b64encode(document_bytes(random, _payload(document))).decode()
        content = json.dumps(document).encode()
    else:
        content = document_bytes(random, document)
    return _before_readers(random, desk, work, content, makes_more=False)


def _payload(envelope: dict[str, Any]) -> dict[str, Any]:
    statement: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return statement


def _before_readers(random: Random, desk: Path, work: Path, content: bytes, *, makes_more: bool) -> str:
    """Put a file before some of its readers; the exit codes."""
    hard, output = work / "hard.json", work / "output.json"
    hard.write_bytes(content)
    commands = [*readers(desk, hard, output), *(writers(hard) if makes_more else ())]
    codes = [check(command, output) for command in random.sample(commands, _READERS_OF_EACH)]
    return f"exit {max(codes)}"


def _expectations(random: Random, desk: Path, work: Path) -> str:
    """Read, hold against a run, learn from it and write again, as a run with a file of expectations does."""
    path = work / "known.toml"
    path.write_bytes(_expectations_bytes(random))
    report = json.loads((desk / "failing.json").read_bytes())
    rows = {row["id"]: row for row in report["cells"]}
    try:
        expectations = Expectations(read_entries(read_text(path), path.name), {"toy": InstalledBackend("1.2")}, DEFAULT)
        judged = {name: expectations.judge(row, "toy") for name, row in rows.items()}
        plan = BackendRun("toy", report["cells"], judged)
        today = datetime.date(2026, 6, 1)
        for fault in expectations.faults([plan], today):
            fault.text.encode()
        expectations.skipped()
        ExpectationsFile(path).apply(learn(expectations, plan, today))
        read_entries(read_text(path), path.name)
    except ExpectationsError as error:
        return _refused(error)
    return "read"


def _refused(error: Exception) -> str:
    assert len(str(error)) < 3000, "a complaint that nobody can read"
    return "refused"


def _expectations_bytes(random: Random) -> bytes:
    document: Any = changed(random, tomlkit.parse(EXPECTATIONS).unwrap())
    try:
        content = tomlkit.dumps(document).encode()
    except Exception:  # no TOML can say that: the bytes are changed, and not the structure
        content = EXPECTATIONS.encode()
        return damaged(random, content)
    return damaged(random, content) if random.random() < 0.25 else content


def _golden_set(random: Random, desk: Path, work: Path) -> str:
    """Read a golden set in which the manifest, an artifact or the values of a case are others."""
    (original,) = (desk / "goldens").iterdir()
    manifest = json.loads((original / "manifest.json").read_bytes())
    manifest["cases"] = random.sample(manifest["cases"], 2)
    folder = work / "set"
    folder.mkdir(exist_ok=True)
    for case in manifest["cases"]:
        for file in (case["values"], *case["artifacts"].values()):
            (folder / file["name"]).write_bytes((original / file["name"]).read_bytes())
    case = random.choice(manifest["cases"])
    goldens: Any = resolve(str(default_toolchain().goldens))
    if random.random() < 0.5:
        file = random.choice([case["values"], *case["artifacts"].values()])
        content = damaged(random, (folder / file["name"]).read_bytes())
        (folder / file["name"]).write_bytes(content)
        file["sha256"] = goldens.sha256_of(content)
        text = json.dumps(manifest).encode()
    else:
        text = document_bytes(random, manifest)
    (folder / "manifest.json").write_bytes(text)
    try:
        goldens.read_goldens(work)
    except GoldensError as error:
        return _refused(error)
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
    return "read"


def _pack(random: Random, desk: Path, work: Path) -> str:
    """Unpack what was changed, and most often sealed again as one would who knows how packs are written."""
    pack, output = work / "pack", work / "output.json"
    part = random.choice(["pack.json", "host.json", "results/results.json", "a value"])
    with _copied(desk / "pack", pack):
        if part == "a value":
            _change_value(random, pack)
        else:
            (pack / part).write_bytes(document_bytes(random, json.loads((pack / part).read_bytes())))
        if random.random() < 0.8:
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                _seal(desk / "pack", pack)
        command = ["unpack", str(pack), "--report", str(desk / "host-report.json"), "-o", str(output)]
        return f"exit {check(command, output)}"


@contextlib.contextmanager
def _copied(original: Path, copy: Path) -> Iterator[None]:
    """A copy of a pack, whose values are links."""
    files = [path for path in original.rglob("*") if path.is_file()]
    for path in files:
        place = copy / path.relative_to(original)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".json":
            place.write_bytes(path.read_bytes())
        else:
            place.symlink_to(path)
    try:
        yield
    finally:
        for place in sorted(copy.rglob("*"), reverse=True):
            place.rmdir() if place.is_dir() else place.unlink()
        copy.rmdir()


def _change_value(random: Random, pack: Path) -> None:
    """Damage one value, and let everything that had it have the new one."""
    path = random.choice(sorted(pack.glob("**/values/*")))
    content = damaged(random, path.read_bytes())
    path.with_name(_sha256(content)).write_bytes(content)
    for document in pack.glob("**/*.json"):
        document.write_text(document.read_text().replace(path.name, _sha256(content)))


def _seal(original: Path, pack: Path) -> None:
    """Write the digests anew that hold the parts of a pack together."""
    host, results = pack / "host.json", json.loads((pack / "results/results.json").read_bytes())
    head = json.loads((pack / "pack.json").read_bytes())
    if host.read_bytes() != (original / "host.json").read_bytes():
        head["host"] = _sha256(host.read_bytes())
        (pack / "pack.json").write_text(json.dumps(head))
    results["pack"] = _sha256((pack / "pack.json").read_bytes())
    results["sha256"] = _sha256(json.dumps(results["entries"], sort_keys=True).encode())
    (pack / "results/results.json").write_text(json.dumps(results))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_TRIED: dict[str, Callable[[Random, Path, Path], str]] = {
    "reports": _report,
    "certificates": _certificate,
    "expectations": _expectations,
    "goldens": _golden_set,
    "packs": _pack,
}
