"""Every reader of files from elsewhere: whatever is in them, one clear error or an answer, and nothing half written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.campaigns.desk import check, contract_of_the_desk, furnish, readers, writers
from support.campaigns.inputs import campaign

from conformance.cli import main
from conformance.expectations import ExpectationsError, read_entries, read_text


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a good report, a failing one, a key, and the certificates of the good one."""
    with contract_of_the_desk():
        yield furnish(tmp_path_factory.mktemp("desk"))


def check_all(desk: Path, content: bytes) -> set[int]:
    """Put a file before every reader, and hold what they do against what they may; the exit codes."""
    with tempfile.TemporaryDirectory() as name:
        hard, output = Path(name, "hard.json"), Path(name, "output.json")
        hard.write_bytes(content)
        return {check(command, output) for command in (*readers(desk, hard, output), *writers(hard))}


@pytest.mark.parametrize("kind", ["reports", "certificates", "expectations"])
def test_any_input_gets_an_answer_or_one_error(kind: str) -> None:
    """A few of those that ``python -m support.campaigns inputs`` tries by the thousand."""
    watch = campaign(150, 1, (kind,))
    assert not watch.findings, watch.summary()
    assert watch.made[kind] == 150
    assert len(watch.ends) > 1, "some should be read, and some be refused"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["goldens", "packs"])
def test_any_artifact_gets_an_answer_or_one_error(kind: str) -> None:
    watch = campaign(100, 1, (kind,))
    assert not watch.findings, watch.summary()
    assert len(watch.ends) > 1


def test_the_fuzzer_gets_past_the_checks(desk: Path) -> None:
    """Else it would only show that nonsense is refused."""
    codes = check_all(desk, (desk / "good.json").read_bytes())
    assert codes == {0, 2}
    assert check_all(desk, (desk / "failing.json").read_bytes()) == {0, 1, 2}


def within(place: str, text: str) -> Callable[[str], str]:
    """The report with a text of JSON in place of the seed, or in front of everything."""
    return lambda report: report.replace('"seed": 7', f'"seed": {text}') if place == "seed" else text + report


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: "", "is not JSON (is it whole?)"),
        (lambda text: text[: len(text) // 2], "is not JSON (is it whole?)"),
        (lambda text: text + "x", "is not JSON (is it whole?)"),
        (lambda text: "\ufeff" + text, "is not JSON (is it whole?)"),
        (lambda text: "null", "is not a torch-conformance report: at the top level: NoneType found"),
        (lambda text: text.replace("report/1", "report/2"), "is of the format torch-conformance-report/2, and this"),
        (lambda text: "[" * 100_000, "nested too deep"),
        (lambda text: text.replace('"seed": 7', f'"seed": {"[" * 40}{"]" * 40}'), "nested more than 32 deep"),
        (within("seed", "NaN"), "NaN is no number of JSON"),
        (within("seed", "-Infinity"), "-Infinity is no number of JSON"),
        (within("seed", "1e999"), "the number 1e999 is too large"),
        (within("seed", "9" * 5000), "is too large"),
        (within("seed", "9" * 20), "the number 99999999999999999999 is too large"),
        (within("seed", '7, "seed": 8'), "the key 'seed' stands twice in one object"),
        (within("seed", '"7"'), "is not a torch-conformance report: at run/seed"),
        (lambda text: json.dumps({"cells": [{}] * 1_600_000}), "no report has 3,145,728"),
    ],
)
def test_what_is_no_report_is_named(
    desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[str], str], complaint: str
) -> None:
    content = damage((desk / "good.json").read_text()).encode()
    hard = tmp_path / "hard.json"
    hard.write_bytes(content)
    assert main(["show", str(hard)]) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.startswith("conformance: hard.json ")
    assert check_all(desk, content) <= {1, 2}  # 1: it is not what was certified


def test_bytes_that_are_no_text(desk: Path) -> None:
    content = (desk / "good.json").read_bytes().replace(b'"toy"', b'"\xff\xfe"', 1)
    assert check_all(desk, content) <= {1, 2}


def _directory(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _nothing(path: Path) -> None:
    pass


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (_directory, "Is a directory"),
        (_pipe, "it is a device, a pipe or a socket, not a file"),
        (_loop, "Too many levels of symbolic links"),
        (_zero, "it is a device, a pipe or a socket, not a file"),
        (_nothing, "No such file or directory"),
        (_large, "it is larger than "),
    ],
)
def test_what_is_no_file_is_not_waited_for(
    desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None], complaint: str
) -> None:
    hard, output = tmp_path / "hard", tmp_path / "output.json"
    make(hard)
    for command in readers(desk, hard, output):
        capsys.readouterr()
        assert main(command) == 2, command
        said = capsys.readouterr().err
        assert complaint in said, command
        assert len(said.splitlines()) == 1
        assert not output.exists()
    with pytest.raises(ExpectationsError, match=complaint):
        read_entries(read_text(hard), hard.name)


def test_expectations_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    for content in (b"a = " + b"[" * 100_000, b"\xff", b"a = \x00", b"[[expect]]\nclause = 7", b"expect = [[]]"):
        path.write_bytes(content)
        with pytest.raises(ExpectationsError):
            read_entries(read_text(path), path.name)


@pytest.mark.runs
def test_memory_is_bounded(tmp_path: Path) -> None:
    """A process may take 1 GiB more than it has before it reads, whatever is in the file, and refuses it."""
    contents = {
        "cells": '{"cells": [' + "{}," * 24_000_000 + "{}]}",
        "lists": "[" + "[]," * 24_000_000 + "[]]",
        "objects": "[" + '{"":1},' * 1_500_000 + "{}]",
        "keys": "{" + ",".join(f'"{number:x}": 1.5' for number in range(3_000_000)) + "}",
        "text": '["' + "\U0001f600" * 24_000_000 + '"]',
        "number": "9" * 96_000_000,
    }
    for name, text in contents.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    del contents, text
    script = """
        import resource, sys
        from pathlib import Path
        from conformance.report import ReportError, read_report

        for name in sys.argv[1:]:
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + 2**30, resource.RLIM_INFINITY))
            try:
                read_report(Path(name))
            except ReportError as error:
                print(error)
    """
    paths = sorted(map(str, tmp_path.glob("*.json")))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert [line.split()[0] for line in done.stdout.splitlines()] == [Path(path).name for path in paths]
