"""Causes on a terminal: what is wrong comes first, in 80 columns, with commands that a shell takes as they stand."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.example_reports import cell
from support.generated_rows import FINDING, generated
from support.small_reports import report_of

from conformance.api.verdicts import Verdict
from conformance.report.causes import causes_of
from conformance.report.formats.causes_text import causes_text
from conformance.report.formats.terminal import summary_text
from conformance.report.model import Report
from conformance.report.parts import read_part
from conformance.report.view import view_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def failing(case: str, message: str, **more: Any) -> dict[str, Any]:
    """A cell in which an assertion of its clause failed."""
    return cell(case, Verdict.FAIL, message=message, error={"type": "assertion", "text": message}, **more)


def many(count: int) -> list[dict[str, Any]]:
    """Cells with a cause each."""
    words = [one + other for one in LETTERS for other in LETTERS]
    return [failing(word, f"expected {word.upper()}, found nothing") for word in words[:count]]


def text_of(*rows: dict[str, Any], every: bool = False, width: int = 80) -> str:
    """The causes of a small report."""
    return causes_text(view_of(report_of(*rows)), width, Path("here"), every=every)


def test_a_cause_tells_what_where_why_and_how_to_see_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here/reproducers/add").mkdir(parents=True)
    Path("here/reproducers/add/reproduce.py").touch()
    script = {"reproducer": {"script": "reproducers/add/reproduce.py"}}
    rows = [failing("add", "worst at [1]: expected 2, found 3", repeated=1, **script)]
    rows += [failing(case, "worst at [9]: expected 4, found 7") for case in ("mul", "conv")]
    text = text_of(*rows)
    (cause,) = causes_of(read_part(Report, report_of(*rows)))
    assert text.splitlines()[0] == "Causes (1, of 3 failing cells)"
    for said in (
        f"1. FAIL in run: 3 cells of lowering.outputs [{cause.id}]",
        "   worst at [1]: expected 2, found 3",
        "   in       add, mul, conv",
        "   example  lowering.outputs[add-full-yes/yes]",
        "   because  it failed 2 times in the same way, in fresh processes; PyTorch",
        "   script   python here/reproducers/add/reproduce.py",
    ):
        assert said in text.splitlines(), text
    Path("here/reproducers/add/reproduce.py").unlink()
    assert "reproduce.py" not in text_of(*rows)


def test_the_inputs_of_a_generated_program_are_told() -> None:
    row = failing("views", "many", generated=generated(findings=[FINDING]))
    text = text_of(row)
    assert "1 cell of lowering.outputs, 3 programs [0123456789ab]" in text
    assert "inputs   float32[2, 3] transposed" in text
    assert FINDING["message"].split(": ")[0] in text


def test_the_command_is_one_for_a_shell_however_narrow_the_terminal() -> None:
    row = failing("a_case_with_a_name_that_is_rather_long", "wrong")
    for width in (40, 80, 200):
        lines = text_of(row, width=width).splitlines()
        start = next(place for place, line in enumerate(lines) if line.startswith("   again"))
        command = "\n".join([lines[start].removeprefix("   again"), *lines[start + 1 :]])
        script = f'pytest() {{ printf "%s\\n" "$@"; }}\n{command}'
        said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert said.stdout.splitlines() == ["--backend=toy", f"--conformance-select={row['id']}"]


def test_a_few_causes_are_told_in_full_and_more_in_a_line() -> None:
    text = text_of(*many(30))
    assert text.count("   example  ") == 5
    assert "6. FAIL, 1 cell, af: expected AF, found nothing [" in text
    assert "\n... and 10 more causes\n" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text_of(*many(30), every=True).count("   example  ") == 30
    assert text_of(cell("add", Verdict.PASS)) == ""


def test_causes_come_before_everything_but_the_head() -> None:
    text = summary_text(report_of(*many(2)), 80)
    assert text.index("Causes (2") < text.index("suite ") < text.index("Failures (2 cells)")
    assert "Causes" not in summary_text(report_of(*many(2)), 80, verbosity=-1)
    assert "expected AA, found nothing" in summary_text(report_of(*many(2)), 80, verbosity=-1)
