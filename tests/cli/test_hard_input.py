"""Every reader of files from elsewhere: whatever is in them, one clear error or an answer, and nothing half written."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.generated_rows import FINDING, generated
from support.made_reports import made_report, put

from conformance.certificate import recompute
from conformance.cli import main
from conformance.contract import Level
from conformance.expectations import ExpectationsError, read_entries, read_text
from conformance.report import ReportError, assemble, read_report
from conformance.report.formats.html import html
from conformance.report.formats.markdown import markdown

#: What a terminal would obey: all control characters but the end of a line, and what reorders text.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udfff]")

HOSTILE = (
    "a|b `c`\n<script>x</script>\x1b[31m\x1b]0;t\x07 [l](javascript:1) \ud800 **d** \u202e\u2066 \x00\x9b31m {{7*7}}"
)
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**62, -(2**62), 0.5, 1e308, -1e308, 1e-320),
    *("", "x", "PASS", "FAIL", "LOST", "no/no", "reported", "core", "x" * 5000, "../../x", "/dev/null", HOSTILE),
    *([], {}, [[]], [None], {"": ""}, [{}], {HOSTILE: HOSTILE}, {"a": [1, {"b": [HOSTILE]}]}),
]


def small_report() -> dict[str, Any]:
    """A report with few cells, of a contract that has no more than these."""
    report = made_report(level=Level.MOBILE)
    kept = ("availability.host", "availability.target", "lowering.spec-intact")
    rows = [row for row in report["cells"] if row["clause"] in kept and row["runtime"] == "full"]
    rows[-1] |= {"notes": ["a remark"], "margin": {"comparisons": 2, "used": 0.5, "absolute": 1e-7, "dtype": "float32"}}
    rows[-1] |= {"generated": generated(findings=[FINDING])}
    report["harness"]["contract"]["sha256"] = "0" * 64
    clauses = [each for each in report["clauses"] if each["id"] in kept]
    report["generated"] = {
        "axes": {"dtype": ["float32", "bool"]}
    }  # few, or most of the changes would be to their pairs
    return assemble(report, clauses, rows, 0, Level.MOBILE)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a good report, a failing one, a key, and the certificates of the good one.

    The contract that is installed is taken for that of the report: a plan of some hundred cells would be all that is
    changed.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recompute, "contract_digest", lambda toolchain: "0" * 64)
        patch.setattr(recompute, "faults_of_the_plan", lambda report: [])
        yield _furnished(tmp_path_factory.mktemp("desk"))


def _furnished(folder: Path) -> Path:
    good = put(folder / "good.json", small_report())
    failing = small_report()
    failing["cells"][0] |= {"verdict": "FAIL", "phase": "run", "message": "wrong", "error": {"text": "wrong"}}
    put(folder / "failing.json", reassembled(failing))
    assert main(["certify", "--new-key", str(folder / "key.pem")]) == 0
    assert main(["certify", str(good), "-o", str(folder / "certificate.json")]) == 0
    signed = ["--key", str(folder / "key.pem"), "-o", str(folder / "signed.json")]
    assert main(["certify", str(good), *signed]) == 0
    return folder


def reassembled(report: dict[str, Any]) -> dict[str, Any]:
    """The report with what follows from its cells."""
    return assemble(report, report["clauses"], report["cells"], 0, Level.MOBILE)


def readers(desk: Path, hard: Path, output: Path) -> Iterator[list[str]]:
    """Each command that reads a report, or a certificate, with the hard file in each of its places."""
    good, key = str(desk / "good.json"), str(desk / "key.pub.pem")
    yield ["show", str(hard)]
    yield ["compare", str(hard), good]
    yield ["compare", good, str(hard), "--format", "markdown", "--all"]
    yield ["merge", good, str(hard), "-o", str(output)]
    yield ["certify", str(hard), "--level", "mobile", "-o", str(output)]
    yield ["verify", str(desk / "certificate.json"), "--report", str(hard)]
    yield ["verify", str(hard), "--report", good]
    yield ["verify", str(hard), "--public-key", key, "--report", good]
    yield ["verify", str(desk / "signed.json"), "--public-key", str(hard), "--report", good]


def check_all(desk: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> set[int]:
    """Put a file before every reader, and hold what they do against what they may; the exit codes."""
    codes = set()
    with tempfile.TemporaryDirectory() as name:
        hard, output = Path(name, "hard.json"), Path(name, "output.json")
        hard.write_bytes(content)
        for command in readers(desk, hard, output):
            output.write_text("as it was")
            codes.add(check(command, output, capsys))
            assert sorted(os.listdir(name)) == ["hard.json", "output.json"]
    return codes


def check(command: list[str], output: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Run one command; it must end with 0, 1 or 2, say things that can be shown, and write all or nothing."""
    capsys.readouterr()
    code = main(command)
    said = capsys.readouterr()
    assert code in (0, 1, 2), command
    assert not UNSEEN.search(said.out), command
    assert not UNSEEN.search(said.err), command
    if code == 2:
        assert len(said.err.splitlines()) == 1, command
        assert said.err.startswith("conformance: "), command
        assert len(said.err) < 3000, command
    else:
        assert said.err == "", command
    if output.exists() and output.read_text() != "as it was":
        assert code != 2, command
        assert isinstance(json.loads(output.read_bytes()), dict), command
    return code


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@st.composite
def mutated(draw: st.DrawFn, document: dict[str, Any]) -> bytes:
    """The document after some changes to its structure, and to its bytes."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        _mutate(draw, document)
    if draw(st.booleans()) and "cells" in document:
        document = _told_again(document)
    content = json.dumps(document).encode()
    return _damaged(draw, content) if draw(st.integers(0, 3)) == 0 else content


def _mutate(draw: st.DrawFn, document: dict[str, Any]) -> None:
    *parents, last = draw(st.sampled_from(list(places(document)) or [("format",)]))
    place: Any = document
    for part in parents:
        place = place[part]
    match draw(st.sampled_from(["drop", "replace", "duplicate", "swap"])):
        case "drop":
            place.pop(last, None) if isinstance(place, dict) else place.pop(last)
        case "replace":
            place[last] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        case "duplicate" if isinstance(place, list):
            place.append(copy.deepcopy(place[last]))
        case "duplicate":
            place[f"{last}{draw(st.sampled_from(['', ' ', HOSTILE]))}"] = copy.deepcopy(place.get(last))
        case "swap":
            place[last] = _at(document, draw(st.sampled_from(list(places(document)))))


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        document = document[part]
    return copy.deepcopy(document)


def _told_again(document: dict[str, Any]) -> dict[str, Any]:
    """What follows from the cells made to follow again, so that a change of them gets past the checks."""
    try:
        return reassembled(document)
    except Exception:  # what it is cannot be put together: then it is tried as it is
        return document


def _damaged(draw: st.DrawFn, content: bytes) -> bytes:
    start = draw(st.integers(0, len(content)))
    stop = min(len(content), start + draw(st.integers(0, 40)))
    inserted = draw(
        st.one_of(st.binary(max_size=12), st.sampled_from([b"NaN", b"1e999", b"9" * 5000, b"{", b'"a":1,']))
    )
    return content[:start] + inserted + (content[stop:] if draw(st.booleans()) else b"")


FUZZING = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@FUZZING
@given(data=st.data())
def test_any_report_gets_an_answer_or_one_error(
    desk: Path, capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["good.json", "failing.json"]))
    document = json.loads((desk / name).read_bytes())
    check_all(desk, capsys, data.draw(mutated(document)))


@FUZZING
@given(data=st.data())
def test_any_certificate_gets_an_answer_or_one_error(
    desk: Path, capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["certificate.json", "signed.json"]))
    document = json.loads((desk / name).read_bytes())
    check_all(desk, capsys, data.draw(mutated(document)))


@FUZZING
@given(data=st.data())
def test_any_report_that_is_read_can_be_a_page(desk: Path, tmp_path: Path, data: st.DataObject) -> None:
    document = json.loads((desk / "failing.json").read_bytes())
    hard = tmp_path / "hard.json"
    hard.write_bytes(data.draw(mutated(document)))
    try:
        report = read_report(hard)
    except ReportError:
        return
    for page in (html(report), markdown(report)):
        page.encode()
        assert "<script>x" not in page


def test_the_fuzzer_gets_past_the_checks(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else it would only show that nonsense is refused."""
    codes = check_all(desk, capsys, (desk / "good.json").read_bytes())
    assert codes == {0, 2}
    assert check_all(desk, capsys, (desk / "failing.json").read_bytes()) == {0, 1, 2}


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
        (lambda text: json.dumps({"cells": [{}] * 1_100_000}), "no report has 2,097,152"),
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
    assert check_all(desk, capsys, content) <= {1, 2}  # 1: it is not what was certified


def test_bytes_that_are_no_text(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = (desk / "good.json").read_bytes().replace(b'"toy"', b'"\xff\xfe"', 1)
    assert check_all(desk, capsys, content) <= {1, 2}


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


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A process may take 700 MiB more than it has before it reads, whatever is in the file, and refuses it."""
    contents = {
        "cells": '{"cells": [' + "{}," * 15_000_000 + "{}]}",
        "lists": "[" + "[]," * 15_000_000 + "[]]",
        "objects": "[" + '{"":1},' * 1_000_000 + "{}]",
        "keys": "{" + ",".join(f'"{number:x}": 1.5' for number in range(2_000_000)) + "}",
        "text": '["' + "\U0001f600" * 15_000_000 + '"]',
        "number": "9" * 60_000_000,
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
            resource.setrlimit(resource.RLIMIT_AS, (taken + 700 * 2**20, resource.RLIM_INFINITY))
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
