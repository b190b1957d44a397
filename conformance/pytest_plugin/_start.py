"""From the options of a run to the plugins that run it and report it."""

from __future__ import annotations

import contextlib
import datetime
import json
import random
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance._util.quiet import NUMPY_IS_MISSING, ignore_missing_numpy
from conformance._util.seeds import seed_of
from conformance.api.errors import HarnessError
from conformance.contract import Level, levels_of, suite_folders
from conformance.devices import Limits, Pool, ZygotePool
from conformance.discovery.describing import Candidate, Description, SelectionError
from conformance.discovery.selecting import select
from conformance.expectations import Expectations, ExpectationsFile
from conformance.pytest_plugin._expectations import expectations_of, file_to_update

if TYPE_CHECKING:
    from conformance.run.run_context import RunContext
    from conformance.targets import Target

_GIB = 2**30
#: Seconds of a step, or GiB of a process: more than any has, and no more than the system calls can be given.
_MOST = 1_000_000


def start(config: pytest.Config) -> None:
    """Find the chosen backends and register what runs them. Raises UsageError for anything that was asked wrongly."""
    _register_markers(config)
    ignore_missing_numpy()

    config.addinivalue_line("filterwarnings", f"ignore:{NUMPY_IS_MISSING}:UserWarning")
    pool = ZygotePool(limits_of(config))
    native, target = _target(config, pool)
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        message = worker_input["conformance"]
        config.args[:] = message["args"] or config.args
        descriptions = [Description.from_message(each) for each in message["descriptions"]]
        target.expect(descriptions)
        run = _run_context(config, pool, message["seed"], descriptions, native, target, _goldens(config))
        _register_runner(config, run, expectations_of(config, descriptions), message["operators"])
        return
    seed = _seed(config)
    most = _reproducers(config)
    # What is wrong with these is said before backends are prepared, which may take minutes.
    expectations_of(config, ())
    goldens = _goldens(config)
    chosen = _select(config, pool)
    unusable = [candidate for candidate in chosen if candidate.description is None or not candidate.usable]
    if unusable:
        pool.close()
        raise pytest.UsageError(
            "\n".join(f"the backend {each.source.name!r} cannot be used here: {each.problem}" for each in unusable)
        )
    descriptions = [candidate.description for candidate in chosen if candidate.description is not None]
    try:
        _check_level(config, descriptions)
        expectations = expectations_of(config, descriptions)
        file = file_to_update(config, descriptions)
        target.expect(descriptions)
        _connect(target)
        operators = _operators(config, pool, descriptions)
        _choose_suites(config)
        if not config.option.collectonly:  # where nothing runs there is nothing to report
            _register_reporter(config, seed, descriptions, expectations, file, most, operators, target.described())
    except pytest.UsageError:
        pool.close()
        raise
    _register_runner(
        config, _run_context(config, pool, seed, descriptions, native, target, goldens), expectations, operators
    )


def _register_markers(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(id): the clause of the contract that a test states")
    for level in Level:
        config.addinivalue_line("markers", f"{level.value}: cells of a clause of the level {level.value}")


def limits_of(config: pytest.Config) -> Limits:
    """What devices may use, as the options say. Raises UsageError for a number that makes no sense."""
    seconds, gibibytes = config.option.conformance_timeout, config.option.conformance_memory
    for name, value in (("--conformance-timeout", seconds), ("--conformance-memory", gibibytes)):
        if not 0 < value <= _MOST:
            raise pytest.UsageError(f"{name} takes a positive number up to {_MOST}, found {value:g}")
    reruns = config.option.conformance_reruns
    if reruns < 0:
        raise pytest.UsageError(f"--conformance-reruns takes a number, 0 or more, found {reruns}")
    return Limits(seconds=seconds, memory_bytes=int(gibibytes * _GIB))


def _reproducers(config: pytest.Config) -> int:
    """How many failing cells of a group get a script. Raises UsageError for a negative number."""
    most: int = config.option.conformance_reproducers
    if most < 0:
        raise pytest.UsageError(f"--conformance-reproducers takes 0 or a positive number, found {most}")
    return most


def _seed(config: pytest.Config) -> int:
    text = config.option.conformance_seed
    if text == "random":
        return random.SystemRandom().randrange(2**31)
    try:
        return seed_of(text)
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-seed: {error}; or 'random'") from None


def _goldens(config: pytest.Config) -> Path | None:
    """The folder of golden sets, read once so that a damaged set is said before anything runs."""
    if not config.option.conformance_goldens:
        return None
    from conformance.api.errors import GoldensError
    from conformance.extensions import resolve
    from conformance.toolchains import toolchains

    folder = Path(config.option.conformance_goldens)
    try:
        for reference in filter(None, (each.goldens for each in toolchains())):
            resolve(reference).read_goldens(folder)
    except GoldensError as error:
        raise pytest.UsageError(f"--conformance-goldens: {error}") from error
    return folder


def _target(config: pytest.Config, pool: ZygotePool) -> tuple[Pool, Target]:
    """Where devices without Python come from, and the target that the options ask for."""
    from conformance.targets import TargetError, open_target
    from conformance.targets.native import NativePool

    native = NativePool(pool, lambda: _announce_compiling(config))
    try:
        target = open_target(config.option.conformance_target, pool, native)
    except TargetError as error:
        raise pytest.UsageError(str(error)) from error
    if not target.one_for_each_worker and getattr(config.option, "dist", "no") != "no":
        raise pytest.UsageError(
            "--conformance-target: a socket server serves one connection, and each worker of pytest-xdist makes "
            "one; run without -n"
        )
    config.add_cleanup(target.close)
    return native, target


def _connect(target: Target) -> None:
    """Raises UsageError, before anything runs, where the target lacks something."""
    try:
        target.connect()
    except HarnessError as error:
        raise pytest.UsageError(f"--conformance-target: {error}") from error


def _announce_compiling(config: pytest.Config) -> None:
    """Say why nothing moves, where the process has a terminal."""
    if not config.pluginmanager.has_plugin("terminalreporter"):
        return
    capturing: Any = config.pluginmanager.getplugin("capturemanager")
    with capturing.global_and_fixture_disabled() if capturing else contextlib.nullcontext():
        writer = config.get_terminal_writer()
        writer.line()
        writer.line("conformance: compiling the native target, once for this PyTorch (10 to 20 s)")


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


def _operators(config: pytest.Config, pool: ZygotePool, descriptions: list[Description]) -> tuple[str, ...]:
    from conformance.pytest_plugin._operators import chosen_operators

    return chosen_operators(config, pool, descriptions[0].toolchain)


def _choose_suites(config: pytest.Config) -> None:
    """Collect the shipped suites when no path was given."""
    if config.args_source is not config.ArgsSource.ARGS:
        config.args[:] = [str(each.folder) for each in suite_folders()]


def _run_context(
    config: pytest.Config,
    pool: ZygotePool,
    seed: int,
    descriptions: list[Description],
    native: Pool,
    target: Target,
    goldens: Path | None,
) -> RunContext:
    from conformance.run.run_context import RunContext

    return RunContext(
        pool,
        seed,
        {each.source.name: each for each in descriptions},
        targets=target.pool,
        native=native,
        goldens=goldens,
        samples=config.option.conformance_operator_samples,
    )


def _register_runner(
    config: pytest.Config, run: RunContext, expectations: Expectations, operators: Sequence[str]
) -> None:
    from conformance.pytest_plugin import _fixtures
    from conformance.pytest_plugin._run import Runner
    from conformance.standalone.reproducers import ReproducerWriter

    config.pluginmanager.register(_fixtures, "conformance-fixtures")
    writer = ReproducerWriter(run, _reproducers(config))
    runner = Runner(run, expectations, writer, operators=operators, reruns=config.option.conformance_reruns)
    config.pluginmanager.register(runner, "conformance-runner")


def _register_reporter(
    config: pytest.Config,
    seed: int,
    descriptions: list[Description],
    expectations: Expectations,
    file: ExpectationsFile | None,
    most: int,
    operators: Sequence[str],
    target: dict[str, str],
) -> None:
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
        target=target,
    )
    reporter = Reporter(config, run, descriptions, folders, expectations, most, operators, file)
    config.pluginmanager.register(reporter, "conformance-reporter")


def _published_arguments(config: pytest.Config) -> tuple[str, ...]:
    """The command line without anything that may be a path, or the address of a target: a report is published."""
    from conformance.targets import published_spec

    published: list[str] = []
    target = config.option.conformance_target
    for argument in config.invocation_params.args:
        name, equals, value = str(argument).partition("=")
        if name == "--conformance-target" and equals:
            published.append(f"{name}={published_spec(target) if value == target else '<overridden>'}")
            continue
        if published[-1:] == ["--conformance-target"]:
            published.append(published_spec(target) if argument == target else "<overridden>")
            continue
        hidden = "/" in value or "\\" in value
        if not name.startswith("-") and ("/" in name or "\\" in name):
            continue
        published.append(f"{name}{equals}{'<path>' if hidden else value}")
    return tuple(published)
