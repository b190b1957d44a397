"""Texts that are made to harm: for patterns that read them, for the files that are named by them, for logs."""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.made_reports import made_report, put
from support.project import Project

import conformance
from conformance._util.files import file_name
from conformance.cli import main
from conformance.report import legible, report_schema

#: What long texts are made of: what patterns look for, and what nearly is that.
UNITS = [
    "a",
    "-",
    "/",
    "a/",
    ".",
    "a.",
    "0",
    "0.",
    "1e",
    "_",
    "'",
    ",",
    "[",
    "(",
    "-a",
    "/a/",
    "0x",
    "::",
    "://a",
    "a=",
    "aten::",
    "torch.",
    "[[",
    "\x1b[",
    "...",
    "-I/a",
]
UNITS += [" ", "\t", "\n", "Error: ", "[N, "]
LENGTH = 20_000
#: A pattern that goes through such a text once needs a hundredth of it.
MOST_SECONDS = 0.15

ROOT = Path(conformance.__file__).parent


def patterns() -> Iterator[tuple[str, str, int]]:
    """Each pattern of the harness, where it stands, and its flags."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "re." not in text:
            continue
        name = ".".join(("conformance", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        # a template is no module yet, and the scripts beside the reports are run from their folder
        if "re.compile(" in text and not {"templates", "reports"} & set(name.split(".")):
            for value in vars(importlib.import_module(name)).values():
                yield from ((name, each.pattern, each.flags & ~re.UNICODE) for each in compiled_in(value))
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("re.") and call.args:
                first = call.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield name, first.value, 0
    yield from (("the schema of reports", each, 0) for each in schema_patterns(report_schema()))


def compiled_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from compiled_in(each)


def schema_patterns(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("pattern"), str):
            yield value["pattern"]
        for each in value.values():
            yield from schema_patterns(each)
    elif isinstance(value, list):
        for each in value:
            yield from schema_patterns(each)


def seconds_for(pattern: Any, flags: int, unit: str) -> float:
    """What the pattern takes for a long text of one unit, with an end that fits nothing."""
    text: Any = unit * (LENGTH // len(unit)) + "\x00"
    compiled = re.compile(pattern, flags if isinstance(pattern, str) else 0)
    began = time.thread_time()
    sum(1 for _ in compiled.finditer(text.encode() if isinstance(pattern, bytes) else text))
    return time.thread_time() - began


def test_every_pattern_reads_a_long_text_once() -> None:
    found = set(patterns())
    assert len(found) > 40
    slow = {
        (name, pattern, unit): seconds
        for name, pattern, flags in found
        for unit in UNITS
        if (seconds := seconds_for(pattern, flags, unit)) > MOST_SECONDS
    }
    assert not slow


@pytest.mark.parametrize(
    "name",
    ["../../x", "..", ".hidden", "a/b", "/root", "-rf", "a\x00b", "é", "", "a" * 300, "\ud800", "a\nb"],
)
def test_a_name_of_anybody_is_the_name_of_one_file(name: str, tmp_path: Path) -> None:
    made = tmp_path / file_name(name)
    made.mkdir()
    assert [each.name for each in tmp_path.iterdir()] == [made.name]
    assert not made.name.startswith(("-", "."))
    assert file_name(name) != file_name(name + "x")


@pytest.mark.parametrize("name", ["reference", "dynamo-x+a=1", "reference-0.1.0-torch-2.13.0", "_x", "A.b"])
def test_a_plain_name_stays_what_it_is(name: str) -> None:
    assert file_name(name) == name


def test_an_entry_point_cannot_choose_where_its_report_is_written(project: Project) -> None:
    project.install("plain", "def compiler(graph, inputs):\n    return graph", "compiler", "torch_dynamo_backends")
    points = next(project.site.glob("*.dist-info")) / "entry_points.txt"
    points.write_text(points.read_text().replace("plain =", "../../outside ="))
    run = project.run("--backend=../../outside", "-k", "test_exit and dynamo_lowering and chain")
    reports = [path.relative_to(project.folder) for path in project.folder.rglob("report.json")]
    assert len(reports) == 1, run.output
    assert reports[0].parts[0] == "conformance-report"
    assert not list(project.folder.parent.glob("outside*"))


COMMANDS = ("::error::x", "  ::add-mask::x", "##[error]x", "x ##vso[task.complete]x", "x\n::error::y", "\r\n::error::")


@pytest.mark.parametrize("text", COMMANDS)
def test_no_line_is_a_command_to_who_keeps_the_log(text: str) -> None:
    assert not is_command(legible(text))


def test_names_of_functions_stay_what_they_are() -> None:
    assert legible("suite::test_x aten::add # [x]") == "suite::test_x aten::add # [x]"


@pytest.mark.parametrize("form", [(), ("--format=markdown",), ("--format=ctrf",), ("--format=html",)])
def test_a_report_that_is_shown_gives_no_commands(
    form: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = made_report()
    report["backend"]["name"] = "::error::owned ##[error]owned"
    report["backend"]["distribution"] = report["backend"]["version"] = "w " * 60 + " ::error::owned"
    for command in ("show", "compare"):
        paths = [str(put(tmp_path / f"{each}.json", report)) for each in range(1 if command == "show" else 2)]
        if command == "compare" and form not in ((), ("--format=markdown",), ("--format=html",)):
            continue
        capsys.readouterr()
        assert main([command, *paths, *form]) in (0, 1)
        said = capsys.readouterr().out
        assert "owned" in said or command == "compare"
        assert not is_command(said), said


def is_command(text: str) -> bool:
    """Whether GitHub Actions or Azure Pipelines would obey a line."""
    return any(line.lstrip().startswith("::") or "##[" in line or "##vso[" in line for line in text.splitlines())
