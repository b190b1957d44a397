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

from conformance.availability import Availability
from conformance.cases import Case, case_named
from conformance.catalogue import Description
from conformance.comparison import assert_close, comparing
from conformance.devices import Ledger
from conformance.errors import ConformanceFailure, DeviceEnded, SubjectError
from conformance.goldens import FORMAT, GOLDEN_CASES, MANIFEST, SUFFIXES, GoldensError, sha256_of
from conformance.toolchains.torchscript.archive import without_source_positions
from conformance.toolchains.torchscript.face import Artifact, TorchScriptDevice
from conformance.values import encode
from conformance.workshop import Workshop


def write_goldens(workshop: Workshop, description: Description, folder: Path, say: Callable[[str], None]) -> Path:
    """Write what the backend makes of the golden cases as a new set in ``folder``; the set's own folder.

    Cases that need a feature which is declared missing are left out. An artifact is written only if it computes what
    eager PyTorch does in a process that loads it, and without the positions in source files, whose paths would be
    published with it. Raises GoldensError, and leaves no set behind, where it does not, for a set that is there, and
    for a backend that makes no such artifacts.
    """
    if description.toolchain != "torchscript":
        raise GoldensError(
            f"a golden set holds TorchScript artifacts; {description.source.name!r} is of {description.toolchain}"
        )
    torch_version = metadata.version("torch").partition("+")[0]
    place = folder / "-".join(
        filter(None, (description.source.name, description.source.version, f"torch-{torch_version}"))
    )
    if place.exists():
        raise GoldensError(f"the golden set {place.name} is there already: golden sets are kept, not replaced")
    rows: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    for case in map(case_named, GOLDEN_CASES):
        if description.lacks(case.features):
            continue
        say(case.name)
        artifacts = _artifacts_of(workshop, description, case)
        calls = workshop.case(case.name, case.toolchain).calls
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
        "seed": workshop.seed,
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


def _artifacts_of(workshop: Workshop, description: Description, case: Case) -> list[Artifact]:
    prepared = workshop.case(case.name, case.toolchain)
    try:
        with _device(workshop, description, "host") as host, comparing(description.tolerances):
            lowered = host.lower(prepared)
            artifacts = [
                Artifact(without_source_positions(host.save(lowered, runtime=runtime, debug_info=False).data), runtime)
                for runtime in SUFFIXES
            ]
            for artifact in artifacts:
                with _device(workshop, description, "target") as target:
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
def _device(workshop: Workshop, description: Description, role: str) -> Iterator[TorchScriptDevice]:
    environment = description.environment(Availability.FULL) or {}
    subject = description.subject()
    device = TorchScriptDevice(role, lambda: workshop.pool.fork(description.toolchain, subject, environment), Ledger())
    try:
        yield device
    finally:
        device.end()


def _entry(name: str, data: bytes) -> dict[str, str]:
    return {"name": name, "sha256": sha256_of(data)}
