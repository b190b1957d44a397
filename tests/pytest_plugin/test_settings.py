"""Every option can stand in pyproject.toml, and the command line wins over it."""

from __future__ import annotations

import pytest
from support.project import Project

import conformance.pytest_plugin
from conformance.pytest_plugin._ini import Setting


class Recorder:
    """Stands where pytest's parser and its group stand."""

    def __init__(self) -> None:
        self.options: list[str] = []
        self.settings: list[str] = []

    def getgroup(self, name: str, description: str = "") -> Recorder:
        """Itself."""
        return self

    def addoption(self, name: str, **attributes: object) -> None:
        """Keep the name."""
        self.options.append(name)

    def addini(self, name: str, help: str, **attributes: object) -> None:
        """Keep the name."""
        self.settings.append(name)


def test_each_option_has_a_setting_of_its_name() -> None:
    recorder = Recorder()
    conformance.pytest_plugin.pytest_addoption(recorder)  # type: ignore[arg-type]
    named = [each.removeprefix("--").replace("-", "_") for each in recorder.options if each != "--list-backends"]
    assert sorted(recorder.settings) == sorted(named)


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        (Setting("--conformance-seed", "string"), "7", ["--conformance-seed=7"]),
        (Setting("--conformance-go-on", "bool"), True, ["--conformance-go-on"]),
        (Setting("--conformance-go-on", "bool"), False, []),
        (Setting("--conformance-backend", "args"), ["a", "b"], ["--conformance-backend=a", "--conformance-backend=b"]),
    ],
)
def test_a_setting_says_what_the_command_line_would(setting: Setting, value: object, said: list[str]) -> None:
    assert setting.arguments(value) == said


def test_the_command_line_wins_by_any_name_of_an_option() -> None:
    setting = Setting("--conformance-backend", "args")
    assert setting.is_among(["-x", "--backend=mine"])
    assert setting.is_among(["--conformance-backend", "mine"])
    assert not setting.is_among(["-x", "--conformance-backends=mine"])


def test_settings_of_a_project_are_those_of_its_runs(project: Project) -> None:
    project.write(
        "pyproject.toml",
        """
        [tool.pytest.ini_options]
        conformance_backend = ["reference"]
        conformance_select = ["lowering.unregistered", "lowering.outputs[add-full-yes/yes]"]
        conformance_seed = "7"
        conformance_timeout = "none"
        conformance_go_on = true
        """,
    )
    wrong = project.run("--collect-only", "-q")
    assert wrong.exit_code == 4
    assert "argument --conformance-timeout: invalid float value: 'none'" in wrong.output
    run = project.run("--conformance-timeout=50")
    assert run.exit_code == 0, run.output
    report = run.report("reference")
    assert report["run"]["seed"] == 7
    assert {row["clause"] for row in report["cells"]} == {"lowering.unregistered", "lowering.outputs"}
