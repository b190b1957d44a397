"""What the model of a reproducer computes, told beside its failure: in the terminal and in the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.example_reports import cell
from support.small_reports import report_of

from conformance.api.verdicts import Verdict
from conformance.report.formats.causes_text import causes_text
from conformance.report.formats.html import html
from conformance.report.model_text import model_text
from conformance.report.reproducer_folder import MARK
from conformance.report.view import view_of

SCRIPT = '''
"""lowering.outputs[add]: FAIL in run"""

import torch


def mixed(x, y):
    """Two operators."""
    return torch.relu(x) - y


def made():
    """What takes nothing is no part of it."""
    return torch.ones(2)


class Model(torch.nn.Module):
    """A model."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x, y):
        z = mixed(x,
                  y)
        return self.linear(z)


def test_outputs(host, case):
    """Its clause."""
    lowered = host.lower(case)


def host() -> None:
    """The process that lowers and saves."""
    print("no model")


def judge(steps):
    return "no model"
'''
MODEL = "return torch.relu(x) - y; z = mixed(x, y); return self.linear(z)"


def test_it_is_what_methods_and_the_functions_they_call_do() -> None:
    assert model_text(SCRIPT) == MODEL


@pytest.mark.parametrize("script", ["", "no Python at all", "def host():\n    print(1)\n", "\0"])
def test_a_script_without_a_model_has_none(script: str) -> None:
    assert model_text(script) == ""


def _report(folder: Path, text: str) -> dict[str, Any]:
    """A report of one failure, in a folder where its script lies."""
    place = folder / "reproducers" / "add"
    place.mkdir(parents=True)
    (place / "reproduce.py").write_text(text, encoding="utf-8")
    row = cell("add", Verdict.FAIL, message="expected 2, found 3")
    return report_of(row | {"reproducer": {"script": "reproducers/add/reproduce.py"}})


def test_the_terminal_and_the_page_tell_it(tmp_path: Path) -> None:
    report = _report(tmp_path, MARK + SCRIPT)
    lines = causes_text(view_of(report), 80, tmp_path).splitlines()
    assert f"   model    {MODEL}" in lines
    assert "self.linear(z)</code>" in html(report, tmp_path)


def test_a_file_of_somebody_else_is_not_read_as_a_script(tmp_path: Path) -> None:
    report = _report(tmp_path, SCRIPT)
    assert "model    " not in causes_text(view_of(report), 80, tmp_path)
