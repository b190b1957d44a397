"""Golden sets: written, read, refused when damaged, and held against a backend that reads them wrongly."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.places import REPOSITORY
from support.project import Project

from conformance.api.errors import GoldensError
from conformance.cli import main
from conformance.compare.values import encode
from conformance.toolchains.torchscript.damage.archive import records
from conformance.toolchains.torchscript.golden_writer import _write_as_a_whole
from conformance.toolchains.torchscript.goldens import GOLDEN_CASES, MANIFEST, read_goldens, sha256_of

SHIPPED = REPOSITORY / "plugins/reference/src/torch_conformance_reference/goldens"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the sets that the reference backend ships."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "goldens"))


def manifest_of(folder: Path) -> tuple[Path, dict[str, Any]]:
    (path,) = folder.glob("*/manifest.json")
    return path, json.loads(path.read_text())


def test_a_shipped_set_holds_every_case_for_both_runtimes() -> None:
    (golden_set, *_) = read_goldens(SHIPPED)
    assert golden_set.backend == "reference"
    for case in GOLDEN_CASES:
        for runtime in ("full", "lite"):
            (golden,) = golden_set.goldens_of(case, runtime)
            assert len(golden.calls) >= 2


def test_no_set_holds_a_path_of_the_machine_that_wrote_it() -> None:
    for path in SHIPPED.glob("*/*.pt*"):
        kept = records(path.read_bytes())
        assert not [name for name in kept if name.endswith(".debug_pkl")], path.name
        assert not [name for name, data in kept.items() if re.search(rb"/(home|root|tmp|usr|work)/", data)], path.name


def test_a_folder_without_sets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GoldensError, match="holds no golden set"):
        read_goldens(tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda manifest: manifest.update(format="torch-conformance-goldens/9"), "wrong at format"),
        (lambda manifest: manifest.pop("cases"), "wrong at the top level"),
        (lambda manifest: manifest["cases"][0]["values"].update(name="../elsewhere"), "wrong at cases/0/values/name"),
        (lambda manifest: manifest["cases"][0]["values"].update(sha256="0" * 64), "SHA-256"),
        (lambda manifest: manifest["cases"][0]["values"].update(name="gone"), "cannot be read"),
    ],
)
def test_a_damaged_manifest_is_refused_with_its_place(
    folder: Path, damage: Callable[[dict[str, Any]], object], message: str
) -> None:
    path, manifest = manifest_of(folder)
    damage(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(GoldensError, match=message):
        read_goldens(folder)


def test_a_damaged_artifact_is_refused(folder: Path) -> None:
    path, manifest = manifest_of(folder)
    artifact = path.parent / manifest["cases"][0]["artifacts"]["full"]["name"]
    artifact.write_bytes(artifact.read_bytes()[:-1])
    with pytest.raises(GoldensError, match="SHA-256"):
        read_goldens(folder)


@pytest.mark.parametrize("content", [b"no archive", encode([{"method": "forward"}]), encode(3), encode([[1]])])
def test_values_that_are_no_calls_are_refused(folder: Path, content: bytes) -> None:
    path, manifest = manifest_of(folder)
    values = manifest["cases"][0]["values"]
    values["sha256"] = sha256_of(content)
    (path.parent / values["name"]).write_bytes(content)
    path.write_text(json.dumps(manifest))
    with pytest.raises(GoldensError, match="holds no calls with their values"):
        read_goldens(folder)


def test_a_manifest_is_read_within_bounds(folder: Path) -> None:
    path, _ = manifest_of(folder)
    path.write_bytes(path.read_bytes() + b" " * 2**23)
    with pytest.raises(GoldensError, match=f"{MANIFEST} cannot be read: it is larger than 4 MiB"):
        read_goldens(folder)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(GoldensError, match="a pipe"):
        read_goldens(folder)


@pytest.mark.quick
def test_a_damaged_set_is_said_before_a_backend_is_looked_for(project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-goldens=nowhere")
    assert run.exit_code == 4
    assert "--conformance-goldens: nowhere holds no golden set" in run.output
    assert "backend reference" not in run.output  # as the header says once it was looked for


def test_a_set_is_never_replaced(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.glob("*/*")}
    path, _ = manifest_of(folder)
    assert main(["goldens", "reference", str(folder)]) == 2
    assert f"{path.parent.name} is there already" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.glob("*/*")} == before


def test_a_backend_without_such_artifacts_gets_no_golden_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["goldens", "eager", str(tmp_path)]) == 2
    assert "a golden set holds artifacts of torchscript; 'eager' is of dynamo" in capsys.readouterr().err


def test_half_a_set_is_none(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        _write_as_a_whole(tmp_path / "set", {"add.pt": b"", "no/such/folder": b""})
    assert not list(tmp_path.iterdir())
    _write_as_a_whole(tmp_path / "set", {"add.pt": b"x"})
    assert (tmp_path / "set/add.pt").read_bytes() == b"x"
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_a_backend_that_computes_wrongly_gets_no_golden_set(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["goldens", "wrong_in_other_methods", str(tmp_path)]) == 2
    assert "gives no golden artifact, because it fails today" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
