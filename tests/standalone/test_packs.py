"""Packs: a target that cannot be reached gives the verdicts of one that can, and results are not believed blindly."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.descriptions import ANY_BACKEND
from support.installations import installation
from support.project import Run
from torch_conformance_reference import library_path
from torch_conformance_saboteurs.build import DELEGATES, build

import conformance.report
from conformance.cli import main
from conformance.standalone import packs
from conformance.standalone.packs._values import digest_of, from_json, to_json
from conformance.standalone.packs._write import _script as script_text

CLAUSES = (
    "lite.types",
    "lite.unknown-backend",
    "availability.text",
    "availability.lost",
    "bundled.inflatable",
    "inference.taken-out",
    "save-load.spec",
    "save-load.again",
)
PART = (
    "(test_lite_interpreter and (test_types or test_unknown)) or (test_availability and (test_text or test_lost))"
    " or (test_bundled_inputs and test_inflatable) or (test_inference and test_taken_out)"
    " or (test_save_load and (test_spec or test_again))"
)
#: Clauses of which a pack says why it cannot answer them, with what the reason has in it.
UNANSWERED = {"save-load.spec": "'received_spec'"}


@dataclasses.dataclass
class Packed:
    """A pack that was answered, and the report of the host."""

    folder: Path
    report: Path

    def copy(self, to: Path) -> Packed:
        shutil.copytree(self.folder, to)
        return Packed(to, self.report)

    @property
    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "results" / "results.json").read_text())
        return found

    def write_results(self, results: dict[str, Any], *, sealed: bool = True) -> None:
        """Change the results; ``sealed`` as one would who knows how they are written."""
        if sealed:
            results["sha256"] = digest_of(json.dumps(results["entries"], sort_keys=True).encode())
        (self.folder / "results" / "results.json").write_text(json.dumps(results))

    def unpack(self, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, dict[str, Any]]:
        """The exit code, what was said on stderr, and the cells of the merged report."""
        output = self.folder / "merged.json"
        code = main(["unpack", str(self.folder), "--report", str(self.report), "-o", str(output)])
        cells = json.loads(output.read_text())["cells"] if output.exists() else []
        return code, capsys.readouterr().err, {row["id"]: row for row in cells}


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with torch, and without the harness."""
    return installation(tmp_path_factory.mktemp("bare") / "python", "torch")


def answer(pack: Path, python: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a pack's script on the "target"."""
    command = [str(python), str(pack / "run.py"), *arguments]
    return subprocess.run(command, env=environment, cwd=pack.parent, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory, shared_run: Callable[..., Run], bare_python: Path) -> Packed:
    folder = tmp_path_factory.mktemp("packed") / "pack"
    patterns = [argument for clause in CLAUSES for argument in ("--clause", clause)]
    assert main(["pack", str(folder), "--backend", "reference", *patterns]) == 0
    done = answer(folder, bare_python, "--library", str(library_path()))
    assert done.returncode == 0, done.stderr
    local = shared_run("--backend=reference", "-k", PART)
    return Packed(folder, local.report_folder("reference") / "report.json")


@pytest.mark.slow
def test_local_native_and_packed_targets_have_the_same_verdicts(
    packed: Packed, shared_run: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    local = shared_run("--backend=reference", "-k", PART).verdicts("reference")
    native = shared_run("--backend=reference", "-k", PART, "--conformance-target=native").verdicts("reference")
    code, _, cells = packed.unpack(capsys)
    assert code == 0
    assert set(cells) == set(local) == set(native)
    for cell, row in cells.items():
        found = row["verdict"], row["phase"]
        if row["clause"] in UNANSWERED:
            assert found == ("NOT_EXERCISED", "")
            assert UNANSWERED[row["clause"]] in row["message"]
        else:
            assert found == local[cell], cell
            assert native[cell] in (found, ("NOT_EXERCISED", ""))
    answered_by_all = [cell for cell in cells if cells[cell]["verdict"] == native[cell][0] == "PASS"]
    assert len(answered_by_all) > 12
    target = json.loads((packed.folder / "merged.json").read_text())["target"]
    assert set(target) == {"spec", "torch", "python", "platform"}
    assert target["spec"] == "pack"


@pytest.mark.parts
def test_the_script_needs_nothing_of_the_harness(packed: Packed, bare_python: Path) -> None:
    missing = subprocess.run(
        [str(bare_python), "-I", "-c", "import conformance"], env={}, capture_output=True, check=False
    )
    assert missing.returncode != 0, "the installation has the harness"
    script = (packed.folder / "run.py").read_text()
    assert "import conformance" not in script
    assert "from conformance" not in script
    assert str(packed.folder.parent) not in (packed.folder / "host.json").read_text() + script


@pytest.mark.slow
def test_a_backend_that_is_not_available_there_fails_there(
    packed: Packed, bare_python: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = packed.copy(tmp_path / "pack")
    shutil.rmtree(copy.folder / "results")
    off = {"REFERENCE_BACKEND_COMPILE": "0", "REFERENCE_BACKEND_EXECUTE": "0"}
    assert answer(copy.folder, bare_python, "--library", str(library_path()), **off).returncode == 0
    code, _, cells = copy.unpack(capsys)
    assert code == 0
    row = cells["lite.types[add-lite-yes/yes-yes/yes]"]
    assert (row["verdict"], row["phase"]) == ("FAIL", "load")
    assert "Backend is not available" in row["message"]
    assert cells["availability.text[add-full-yes/yes-no/no]"]["verdict"] == "PASS"


def test_how_a_process_ended_there_is_judged_here(
    packed: Packed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = packed.copy(tmp_path / "pack")
    results = copy.results
    answers = results["entries"]["lite.types[add-lite-yes/yes-yes/yes] backend 1"]["answers"]
    fields = {"status": -11, "left_processes": False, "stack": "", "stdout": "", "stderr": "", "context": ""}
    answers[2:] = [{"ended": "DeviceDied", "fields": fields}]
    copy.write_results(results)
    row = copy.unpack(capsys)[2]["lite.types[add-lite-yes/yes-yes/yes]"]
    assert (row["verdict"], row["phase"]) == ("CRASH", "run")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "verdict", "message", "end"),
    [
        ("native_crashes", "CRASH", "the process killed by SIGSEGV during run", "DeviceDied"),
        ("native_hangs", "TIMEOUT", "run did not come back within 5 s", "DeviceTimeout"),
    ],
)
def test_what_ends_a_process_on_the_target_costs_one_entry(
    backend: str,
    verdict: str,
    message: str,
    end: str,
    tmp_path: Path,
    shared_run: Callable[..., Run],
    bare_python: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The saboteur keeps the contract where its pack is written; on the target, each device in which it runs ends."""
    pack = tmp_path / "pack"
    patterns = [f"--clause={clause}" for clause in ("lite.types", "lite.unknown-backend", "availability.text")]
    assert main(["pack", str(pack), "--backend", backend, *patterns]) == 0
    library = ("--library", str(build(DELEGATES)), "--timeout", "5")
    done = answer(pack, bare_python, *library, SABOTEUR_AS_WITHOUT_PYTHON="1")
    assert done.returncode == 0, done.stderr
    part = "(test_lite_interpreter and (test_types or test_unknown)) or (test_availability and test_text)"
    local = shared_run(f"--backend={backend}", "-k", part)
    found = Packed(pack, local.report_folder(backend) / "report.json")
    capsys.readouterr()
    code, said, cells = found.unpack(capsys)
    assert (code, said) == (0, "")

    assert set(cells) == set(local.verdicts(backend))
    assert {found for found, _ in local.verdicts(backend).values()} == {"PASS"}
    ended = {cell for cell, row in cells.items() if row["verdict"] == verdict}
    assert ended == {cell for cell in cells if cell.startswith("lite.types")}
    for cell, row in cells.items():
        if cell in ended:
            assert (row["phase"], row["message"]) == ("run", message)
            assert "run.py" in row["error"]["stack"]
        else:
            assert (row["verdict"], row["phase"]) == ("PASS", "")

    requests = json.loads((pack / "pack.json").read_text())["entries"]
    for name, entry in found.results["entries"].items():
        whole = len(entry["answers"]) == len(requests[name]["requests"])
        if name.rpartition(" ")[0].removesuffix(" backend") in ended:
            assert entry["answers"][-1]["ended"] == end
            assert len(entry["answers"]) > 1, "what was answered before is kept"
        else:
            assert whole
            assert "ended" not in entry["answers"][-1] or requests[name]["requests"][-1][0] == "leave"


def test_missing_entries_are_named(packed: Packed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = packed.copy(tmp_path / "pack")
    results = copy.results
    del results["entries"]["lite.types[add-lite-yes/yes-yes/yes] backend 1"]
    copy.write_results(results)
    code, said, cells = copy.unpack(capsys)
    assert code == 1
    assert said == "not answered: lite.types[add-lite-yes/yes-yes/yes] backend 1\n"
    assert cells["lite.types[add-lite-yes/yes-yes/yes]"]["verdict"] == "NOT_EXERCISED"


def test_what_a_pack_calls_its_entries_moves_no_cursor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its names are somebody else's, as the rest of it."""
    monkeypatch.setattr(conformance.report, "read_report", lambda path: None)
    monkeypatch.setattr(conformance.report, "write_report", lambda path, report: None)
    monkeypatch.setattr(packs, "unpacked_report", lambda *arguments: (None, ["one\x1b]0;", "two\nlines"]))
    assert main(["unpack", str(tmp_path), "--report", "in.json", "--output", "out.json"]) == 1
    assert capsys.readouterr().err == "not answered: one\\u001b]0;\nnot answered: two lines\n"


def _edited(packed: Packed) -> None:
    results = packed.results
    results["entries"].popitem()
    packed.write_results(results, sealed=False)


def _of_another_pack(packed: Packed) -> None:
    packed.write_results(packed.results | {"pack": "0" * 64})


def _with_a_changed_value(packed: Packed) -> None:
    value = next((packed.folder / "results" / "values").iterdir())
    value.write_bytes(value.read_bytes() + b"x")


def _with_a_path_for_a_digest(packed: Packed) -> None:
    results = packed.results
    next(iter(results["entries"].values()))["answers"][0] = ["bytes", "../../../../etc/passwd"]
    packed.write_results(results)


def _with_an_answer_of_no_device(packed: Packed) -> None:
    results = packed.results
    next(iter(results["entries"].values()))["answers"][0] = {"ended": "Popen", "fields": {}}
    packed.write_results(results)


def _with_an_end_of_no_kind(packed: Packed) -> None:
    results = packed.results
    next(iter(results["entries"].values()))["answers"][0] = {"ended": "DeviceEnded", "fields": {}}
    packed.write_results(results)


def _without_a_target(packed: Packed) -> None:
    results = packed.results
    del results["target"]["torch"]
    packed.write_results(results)


def _truncated(packed: Packed) -> None:
    path = packed.folder / "results" / "results.json"
    path.write_bytes(path.read_bytes()[:-40])


def _a_pipe(packed: Packed) -> None:
    path = packed.folder / "results" / "results.json"
    path.unlink()
    os.mkfifo(path)


def _a_list(packed: Packed) -> None:
    (packed.folder / "results" / "results.json").write_text("[" * 3 + "]" * 3)


def _with_a_changed_host(packed: Packed) -> None:
    path = packed.folder / "host.json"
    path.write_text(path.read_text().replace('"PASS"', '"FAIL"'))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_edited, "results.json was changed after run.py wrote it"),
        (_of_another_pack, "results.json is of another pack"),
        (_with_a_changed_value, "is not what it was when it was written"),
        (_with_a_path_for_a_digest, "'../../../../etc/passwd' is no digest"),
        (_with_an_answer_of_no_device, "'Popen' is no end of a process"),
        (_with_an_end_of_no_kind, "'DeviceEnded' is no end of a process"),
        (_without_a_target, "pack-results/1: at target: 'torch' is a required property"),
        (_truncated, "results.json is not JSON (is it whole?)"),
        (_a_pipe, "results.json cannot be read: it is a device, a pipe or a socket"),
        (_a_list, "results.json is not of the format torch-conformance-pack-results/1"),
        (_with_a_changed_host, "host.json does not belong to pack.json"),
    ],
)
def test_what_was_changed_is_refused_in_one_line(
    packed: Packed,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Packed], None],
    message: str,
) -> None:
    copy = packed.copy(tmp_path / "pack")
    change(copy)
    (copy.folder / "merged.json").unlink(missing_ok=True)
    code, said, cells = copy.unpack(capsys)
    assert code == 2
    assert message in said
    assert said.count("\n") == 1
    assert not cells


def test_a_report_of_another_run_is_refused(packed: Packed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = packed.copy(tmp_path / "pack")
    report = json.loads(packed.report.read_text())
    report["run"]["seed"] = 7
    copy.report = tmp_path / "report.json"
    copy.report.write_text(json.dumps(report))
    code, said, _ = copy.unpack(capsys)
    assert code == 2
    assert "the report and the pack are of different runs: seed: 7 and 0" in said


def test_a_damaged_pack_and_a_missing_library_are_said_there(packed: Packed, tmp_path: Path, bare_python: Path) -> None:
    copy = packed.copy(tmp_path / "pack")
    done = answer(copy.folder, bare_python, "--library", "no-such.so")
    assert done.returncode == 2
    assert done.stderr.endswith("run.py: there is no file no-such.so\n")
    assert "name what registers the backend" in answer(copy.folder, bare_python).stderr
    value = next((copy.folder / "values").iterdir())
    value.write_bytes(b"")
    done = answer(copy.folder, bare_python, "--library", str(library_path()))
    assert done.returncode == 2
    assert done.stderr.endswith(f"run.py: the value {value.name} is damaged; take the whole pack again\n")


def test_the_name_of_a_backend_is_a_text_of_the_script() -> None:
    name = '"\\\nraise SystemExit("mine")\n"'
    assert f"\nBACKEND = {name!r}\n" in script_text(dataclasses.replace(ANY_BACKEND, name=name), "0" * 64, set())


def test_values_survive_as_a_pack_writes_them() -> None:
    kept: dict[str, bytes] = {}
    value = {"a": (1, [2.5, float("inf"), None], b"x"), 3: {"b": [True, "é", -0.0]}, "empty": ()}
    packed = json.loads(json.dumps(to_json(value, kept.__setitem__), allow_nan=False))
    assert from_json(packed, kept.__getitem__) == value
    for damaged in ([], ["set", 1], ["dict", [1]], ["bytes", 3]):
        with pytest.raises(ValueError, match="no value of a pack"):
            from_json(damaged, kept.__getitem__)
