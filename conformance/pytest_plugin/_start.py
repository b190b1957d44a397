"""From the options of a run to the plugins that run it and report it."""

from __future__ import annotations

import datetime
import json
import random
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import Candidate, Description, SelectionError
from conformance.contract import Level, levels_of, suites_path
from conformance.devices import Limits, ZygotePool
from conformance.errors import HarnessError
from conformance.expectations import Expectations, ExpectationsError
from conformance.quiet import NUMPY_IS_MISSING, ignore_missing_numpy
from conformance.selection import select

_GIB = 2**30


def start(config: pytest.Config) -> None:
    """Find the chosen backends and register what runs them. Raises UsageError for anything that was asked wrongly."""
    _register_markers(config)
    ignore_missing_numpy()
    config.addinivalue_line("filterwarnings", f"ignore:{NUMPY_IS_MISSING}:UserWarning")
    pool = ZygotePool(limits_of(config))
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        message = worker_input["conformance"]
        config.args[:] = message["args"] or config.args
        descriptions = [Description.from_message(each) for each in message["descriptions"]]
        _register_runner(config, pool, message["seed"], descriptions, _expectations(config))
        return
    seed = _seed(config)
    expectations = _expectations(config)
    chosen = _select(config, pool)
    unusable = [candidate for candidate in chosen if candidate.description is None or not candidate.usable]
    if unusable:
        pool.close()
        raise pytest.UsageError(
            "\n".join(f"the backend {each.source.name!r} cannot be used here: {each.problem}" for each in unusable)
        )
    descriptions = [candidate.description for candidate in chosen if candidate.description is not None]
    _check_level(config, descriptions)
    _choose_suites(config)
    _register_reporter(config, seed, descriptions, expectations)
    _register_runner(config, pool, seed, descriptions, expectations)


def _register_markers(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(id): the clause of the contract that a test states")
    for level in Level:
        config.addinivalue_line("markers", f"{level.value}: cells of a clause of the level {level.value}")


def limits_of(config: pytest.Config) -> Limits:
    """What devices may use, as the options say. Raises UsageError for a number that makes no sense."""
    seconds, gibibytes = config.option.conformance_timeout, config.option.conformance_memory
    for name, value in (("--conformance-timeout", seconds), ("--conformance-memory", gibibytes)):
        if not value > 0:
            raise pytest.UsageError(f"{name} takes a positive number, found {value:g}")
    return Limits(seconds=seconds, memory_bytes=int(gibibytes * _GIB))


def _seed(config: pytest.Config) -> int:
    text = config.option.conformance_seed
    if text == "random":
        return random.SystemRandom().randrange(2**31)
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(f"--conformance-seed takes a whole number or 'random', found {text!r}") from None


def _expectations(config: pytest.Config) -> Expectations:
    if not config.option.conformance_expectations:
        return Expectations(())
    try:
        return Expectations.read(Path(config.option.conformance_expectations))
    except ExpectationsError as error:
        raise pytest.UsageError(str(error)) from error


def _compile_options(config: pytest.Config) -> list[dict[str, Any]]:
    found = []
    for text in config.option.conformance_compile_options:
        try:
            options = json.loads(text)
        except ValueError as error:
            raise pytest.UsageError(f"--conformance-compile-options takes a JSON object: {error}: {text!r}") from None
        if not isinstance(options, dict):
            raise pytest.UsageError(
                f"--conformance-compile-options takes a JSON object such as '{{\"name\": true}}', found {text!r}"
            )
        found.append(options)
    return found


def _check_level(config: pytest.Config, descriptions: list[Description]) -> None:
    level = config.option.conformance_level
    for each in descriptions:
        known = [known.value for known in levels_of(each.toolchain)]
        if level and level not in known:
            raise pytest.UsageError(
                f"--conformance-level={level}: backends of the toolchain {each.toolchain}, such as "
                f"{each.source.name!r}, have the levels {', '.join(known)}"
            )


def _select(config: pytest.Config, pool: ZygotePool) -> list[Candidate]:
    library = config.option.conformance_library
    try:
        chosen = config.option.conformance_backend
        return select(chosen, Path(library) if library else None, pool, _compile_options(config))
    except (SelectionError, HarnessError) as error:
        pool.close()
        raise pytest.UsageError(str(error)) from error


def _choose_suites(config: pytest.Config) -> None:
    """Collect the shipped suites when no path was given."""
    if config.args_source is not config.ArgsSource.ARGS:
        config.args[:] = [str(suites_path())]


def _register_runner(
    config: pytest.Config, pool: ZygotePool, seed: int, descriptions: list[Description], expectations: Expectations
) -> None:
    from conformance.bench import Workshop
    from conformance.pytest_plugin import _fixtures
    from conformance.pytest_plugin._run import Runner

    workshop = Workshop(pool, seed, {each.source.name: each for each in descriptions})
    config.pluginmanager.register(_fixtures, "conformance-fixtures")
    config.pluginmanager.register(Runner(workshop, expectations), "conformance-runner")


def _register_reporter(config: pytest.Config, seed: int, descriptions: list[Description], expectations: Any) -> None:
    from conformance.pytest_plugin._report import Reporter
    from conformance.report import ReportError, ReportFolder, RunFacts

    root = Path(config.option.conformance_report)
    try:
        folders = {each.source.name: ReportFolder(root, each.source.name) for each in descriptions}
    except ReportError as error:
        raise pytest.UsageError(str(error)) from error
    run = RunFacts(
        id=str(uuid.uuid4()),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=time.monotonic(),
        seed=seed,
        argv=_published_arguments(config),
        level=Level(config.option.conformance_level) if config.option.conformance_level else None,
    )
    reporter = Reporter(config, run, descriptions, folders, expectations)
    config.pluginmanager.register(reporter, "conformance-reporter")


def _published_arguments(config: pytest.Config) -> tuple[str, ...]:
    """The command line without anything that may be a path: a report is published."""
    published = []
    for argument in config.invocation_params.args:
        name, equals, value = str(argument).partition("=")
        hidden = "/" in value or "\\" in value
        if not name.startswith("-") and ("/" in name or "\\" in name):
            continue
        published.append(f"{name}{equals}{'<path>' if hidden else value}")
    return tuple(published)
