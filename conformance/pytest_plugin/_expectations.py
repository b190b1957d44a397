"""The options about expectations, and what a run makes of them at its end."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from conformance.discovery.describing import Description
from conformance.expectations import (
    BackendRun,
    Expectation,
    Expectations,
    ExpectationsError,
    ExpectationsFile,
    InstalledBackend,
    kinds_of,
    learn,
    read_entries,
    read_text,
)


@dataclasses.dataclass
class Ending:
    """What there is to say about expectations at the end of a run: what fails it, what does not, and what was done."""

    problems: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)


def expectations_of(config: pytest.Config, descriptions: Iterable[Description]) -> Expectations:
    """The expectations that the options name. Raises UsageError for a file or a strictness that makes no sense."""
    subjects = {each.source.name: InstalledBackend(each.source.version) for each in descriptions}
    strict = config.option.conformance_strict_expectations
    try:
        kinds = kinds_of(config.getini("conformance_strict_expectations") if strict is None else strict)
        return Expectations(_entries(config), subjects, kinds)
    except ExpectationsError as error:
        raise pytest.UsageError(str(error)) from error


def _entries(config: pytest.Config) -> Sequence[Expectation]:
    if not config.option.conformance_expectations:
        return ()
    path = Path(config.option.conformance_expectations)
    if config.option.conformance_update_expectations and not path.exists():
        return ()
    return read_entries(read_text(path), str(path))


def file_to_update(config: pytest.Config, descriptions: Sequence[Description]) -> ExpectationsFile | None:
    """The file that the run is to update, if it is. Raises UsageError when that cannot be done."""
    option = "--conformance-update-expectations"
    if not config.option.conformance_update_expectations:
        return None
    if not config.option.conformance_expectations:
        raise pytest.UsageError(f"{option} needs to be told which file: --conformance-expectations=FILE")
    if config.option.conformance_reruns < 1:
        raise pytest.UsageError(f"{option} records failures that repeat: --conformance-reruns must be 1 or more")
    if len(descriptions) > 1:
        names = ", ".join(each.source.name for each in descriptions)
        raise pytest.UsageError(f"{option} takes one backend, whose failures the file has; found {names}")
    try:
        return ExpectationsFile(Path(config.option.conformance_expectations))
    except ExpectationsError as error:
        raise pytest.UsageError(str(error)) from error


def conclude(
    expectations: Expectations, file: ExpectationsFile | None, plans: Sequence[BackendRun], verbose: bool
) -> Ending:
    """Say what is wrong about the expectations as a whole, and update their file if there is one to update."""
    today = datetime.datetime.now(datetime.UTC).date()
    ending = Ending(lines=expectations.skipped() if verbose else [])
    for fault in expectations.faults(plans, today):
        (ending.problems if fault.kind in expectations.strict else ending.warnings).append(fault.text)
    if file is not None:
        update = learn(expectations, plans[0], today)
        try:
            written = file.apply(update)
        except ExpectationsError as error:
            ending.problems.append(str(error))
        else:
            ending.lines += update.said
            what = "updated: review the difference, and say why where it says TODO" if written else "nothing to change"
            ending.lines.append(f"expectations: {file.path}: {what}")
    return ending
