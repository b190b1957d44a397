"""Writing golden sets: ``conformance goldens``."""

from __future__ import annotations

import contextlib
import json
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from conformance._util.files import file_name
from conformance.api.availability import Availability
from conformance.api.case import Case
from conformance.api.errors import ConformanceFailure, DeviceEnded, GoldensError, SubjectError
from conformance.compare.comparison import assert_close, comparing
from conformance.compare.values import encode
from conformance.devices import Ledger
from conformance.discovery.describing import Description
from conformance.run.run_context import RunContext
from conformance.toolchains import case_named, toolchain_named
from conformance.toolchains.torchscript.client import Artifact, TorchScriptDevice
from conformance.toolchains.torchscript.damage.archive import without_source_positions
from conformance.toolchains.torchscript.goldens import FORMAT, GOLDEN_CASES, MANIFEST, SUFFIXES, sha256_of


def write_goldens(run: RunContext, description: Description, folder: Path, say: Callable[[str], None]) -> Path:
    """Write what the backend makes of the golden cases as a new set in ``folder``; the set's own folder.

    Cases that need a feature which is declared missing are left out. An artifact is written only if it computes what
    eager PyTorch does in a process that loads it, and without the positions in source files, whose paths would be
    published with it. Raises GoldensError, and leaves no set behind, where it does not, for a set that is there.
    """
    torch_version = metadata.version("torch").partition("+")[0]
    place = folder / file_name(
        "-".join(filter(None, (description.source.name, description.source.version, f"torch-{torch_version}")))
    )
    if place.exists():
        raise GoldensError(f"the golden set {place.name} is there already: golden sets are kept, not replaced")
    rows: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    for case in (case_named(name, "torchscript") for name in GOLDEN_CASES):
        if description.lacks(case.features):
            continue
        say(case.name)
        artifacts = _artifacts_of(run, description, case)
        calls = run.case(case.name, case.toolchain).calls
        values = encode([{"method": each.method, "inputs": each.inputs, "expected": each.expected} for each in calls])
        contents = {f"{case.name}.{SUFFIXES[each.runtime]}": each.data for each in artifacts}
        files |= contents | {f"{case.name}.values": values}
        rows.append(
            {
                "name": case.name,
                "values": _entry(f"{case.name}.values", values),
                "artifacts": {
                    each.runtime: _entry(name, data)
                    for each, (name, data) in zip(artifacts, contents.items(), strict=True)
                },
            }
        )
    manifest = {
        "format": FORMAT,
        "backend": {
            "name": description.source.name,
            "distribution": description.source.distribution,
            "version": description.source.version,
        },
        "environment": {
            "torch": torch_version,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
        "seed": run.seed,
        "tolerances": {name: list(pair) for name, pair in description.tolerances.items()},
        "cases": rows,
    }
    files[MANIFEST] = (json.dumps(manifest, indent=1) + "\n").encode()
    try:
        _write_as_a_whole(place, files)
    except OSError as error:
        raise GoldensError(f"the golden set cannot be written to {place}: {error.strerror}") from error
    return place


def _write_as_a_whole(place: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder with the files, or none: half a set would be taken for one that is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".torch-conformance.") as temporary:
        unfinished = Path(temporary) / place.name
        unfinished.mkdir()
        for name, data in files.items():
            (unfinished / name).write_bytes(data)
        unfinished.rename(place)


def _artifacts_of(run: RunContext, description: Description, case: Case) -> list[Artifact]:
    prepared = run.case(case.name, case.toolchain)
    try:
        with _device(run, description, "host") as host, comparing(description.tolerances):
            lowered = host.lower(prepared)
            artifacts = [
                Artifact(without_source_positions(host.save(lowered, runtime=runtime, debug_info=False).data), runtime)
                for runtime in SUFFIXES
            ]
            for artifact in artifacts:
                with _device(run, description, "target") as target:
                    loaded = target.load(artifact)
                    for call in prepared.calls:
                        where = f"{case.name}.{call.method}, {artifact.runtime}"
                        assert_close(target.run_call(loaded, call)[0], call.expected, where)
    except (SubjectError, DeviceEnded, ConformanceFailure) as error:
        raise GoldensError(
            f"the case {case.name!r} gives no golden artifact, because it fails today: {error}"
        ) from error
    return artifacts


@contextlib.contextmanager
def _device(run: RunContext, description: Description, role: str) -> Iterator[TorchScriptDevice]:
    environment = description.environment(Availability.FULL) or {}
    subject = description.subject()
    kind = toolchain_named(description.toolchain).device(role)
    device = TorchScriptDevice(role, lambda: run.pool.fork(kind, subject, environment), Ledger())
    try:
        yield device
    finally:
        device.end()


def _entry(name: str, data: bytes) -> dict[str, str]:
    return {"name": name, "sha256": sha256_of(data)}
