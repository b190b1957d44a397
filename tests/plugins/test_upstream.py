"""The scripts of what was found in vendors' backends: what counts as shown, what is filed; and their environments."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from support.places import REPOSITORY


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(REPOSITORY / "reports"))
    return importlib.import_module("upstream")


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(REPOSITORY / "reports"))
    return importlib.import_module("environments")


def _run(upstream: Any, folder: Path, body: str) -> Any:
    script = folder / "tvm_sample.py"
    script.write_text(f'"""tvm: one is two.\n\nExpected: one.\n"""\n\nimport os, sys\n\n{body}\n', encoding="utf-8")
    return upstream.run(script, Path(sys.executable))


@pytest.mark.parametrize(
    ("body", "shown", "found"),
    [
        ("print('eager: 1'); print('mine: 2'); sys.exit(1)", True, "eager: 1\nmine: 2"),
        ("print('eager: 1'); print('mine: 1')", False, "eager: 1\nmine: 1"),
        ("import not_installed", False, "ModuleNotFoundError: No module named 'not_installed'"),
        ("print('eager: 1'); raise ValueError('no')", True, "eager: 1\nValueError: no"),
        ("print('eager: 1'); os.abort()", True, "eager: 1\nthe process ends with SIGABRT"),
        ("print('eager: /some/where/on/this.py'); sys.exit(1)", True, "eager: this.py"),
    ],
    ids=["differs", "agrees", "absent", "raises", "dies", "a path"],
)
def test_what_a_script_shows(upstream: Any, tmp_path: Path, body: str, shown: bool, found: str) -> None:
    finding = _run(upstream, tmp_path, body)
    assert (finding.shown, finding.found) == (shown, found)


def test_what_is_filed_has_title_versions_script_and_both_results(upstream: Any, tmp_path: Path) -> None:
    text = upstream.text(_run(upstream, tmp_path, "print('eager: 1'); sys.exit(1)"), "torch 2.13")
    assert text.startswith("# tvm: one is two.\n\nVersions: torch 2.13.\n\n```python\nimport os, sys\n")
    assert text.endswith("**Expected:** one.\n\n**Found:**\n\n```text\neager: 1\n```\n")


def test_every_lock_names_a_version_of_each_package(environments: Any) -> None:
    plugins = {each.folder.name: each for each in environments.plugins()}
    assert plugins["tvm"].backends == ("relax",)
    assert plugins["openvino"].backends == ("openvino", "openvino_aot_autograd")
    for each in plugins.values():
        lines = each.lock.read_text(encoding="utf-8").splitlines()
        assert all(line.count("==") == 1 for line in lines), each.lock


def test_another_lock_is_another_environment(environments: Any, tmp_path: Path) -> None:
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).write_text("one==1\n", encoding="utf-8")
    plugin = environments.Plugin(tmp_path, ("mine",))
    before = plugin.digest
    (tmp_path / "requirements.lock").write_text("one==2\n", encoding="utf-8")
    assert plugin.digest != before


def test_a_backend_that_is_not_there_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "reports"))
    regenerate = importlib.import_module("regenerate")
    with pytest.raises(SystemExit, match="2"):
        regenerate.main(["nobody", "--", "-n", "1"])
    told = capsys.readouterr().err
    assert "relax" in told
    assert told.strip().endswith("found nobody")


def test_of_cells_that_fail_alike_the_first_keeps_what_it_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "reports"))
    regenerate = importlib.import_module("regenerate")

    def row(name: str, fingerprint: str) -> dict[str, Any]:
        return {
            "id": name,
            "fingerprint": fingerprint,
            "error": {"type": "RuntimeError", "text": "no", "stack": "\n".join(map(str, range(100)))},
        }

    cells = [row("one", "a"), row("two", "b"), row("three", "a"), {"id": "four", "error": {"type": "E"}}]
    cells.append(row("five", "c") | {"generated": {"findings": [{}]}, "message": "in short"})
    cells += [row("six", "d") | {"message": "no such"}, row("seven", "e") | {"message": "no such"}]
    cells.append(
        {"id": "eight", "seconds": {"run": 0.12345}, "generated": {"values": ["a"], "counts": [1], "pairs": [[]]}}
    )
    one, two, three, four, five, six, seven, eight = regenerate.shortened({"cells": cells})["cells"]
    innermost = "\n".join(map(str, range(90, 100)))
    assert [each["error"]["stack"] for each in (one, two, six)] == [innermost] * 3
    assert [each["error"] for each in (three, seven)] == [
        {"type": "RuntimeError", "text": "as of one"},
        {"type": "RuntimeError", "text": "as of six"},
    ]
    assert eight["seconds"] == {"run": 0.123}
    assert eight["generated"] == {"values": [], "counts": [], "pairs": []}
    assert four["error"] == {"type": "E"}  # a refusal, which has no fingerprint
    assert five["error"] == {"type": "RuntimeError", "text": "in short"}
