"""The beginning of a run: the backends are found, and what runs and reports them is registered."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import signal
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from conformance._util.files import file_name
from conformance._util.quiet import NUMPY_IS_MISSING, OPTIMIZED, ignore_missing_numpy, is_optimized, too_few_open_files
from conformance.api.errors import HarnessError, MachineTooSlow
from conformance.contract import Level, installed_clauses, levels_of, suite_folders
from conformance.devices import ZygotePool
from conformance.discovery.describing import Description
from conformance.discovery.selecting import SelectionError, select
from conformance.expectations import Expectations, ExpectationsFile
from conformance.pytest_plugin import EXIT_HARNESS_ERROR, _fixtures
from conformance.pytest_plugin._all_alike import AdditionFirst
from conformance.pytest_plugin._budget import Budgeter
from conformance.pytest_plugin._expectations import expectations_of, file_to_update
from conformance.pytest_plugin._operators import chosen_operators
from conformance.pytest_plugin._options import RunOptions
from conformance.pytest_plugin._report import Reporter
from conformance.pytest_plugin._resume import Resumer, facts_of, interrupted_run
from conformance.pytest_plugin._run import Runner
from conformance.pytest_plugin._selection import Selection, Selector, failed_cells, found_paths
from conformance.pytest_plugin._shard import Sharder
from conformance.pytest_plugin._telling import telling
from conformance.report import PART, ReportError, ReportFolder, RunFacts, legible
from conformance.report.model import EarlierRun
from conformance.report.resuming import Begun, Interrupted
from conformance.run.plan import cells_of
from conformance.run.run_context import RunContext
from conformance.standalone.reproducers import ReproducerWriter
from conformance.targets import Target, TargetError, open_target
from conformance.targets.native import NativePool


def start(config: pytest.Config, options: RunOptions, pool: ZygotePool) -> None:
    """Find the chosen backends and register what runs them, in devices of ``pool``, which the run then closes.

    Raises UsageError for anything that was asked wrongly.
    """
    if is_optimized():
        raise pytest.UsageError(OPTIMIZED)
    if too_few := too_few_open_files():
        raise pytest.UsageError(too_few)
    _interrupt_when_terminated(config)
    ignore_missing_numpy()
    config.addinivalue_line("filterwarnings", f"ignore:{NUMPY_IS_MISSING}:UserWarning")
    _register_markers(config)
    try:
        worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        if worker_input is None:
            _start_run(config, options, pool)
        else:
            _start_worker(config, options, worker_input["conformance"], pool)
    except MachineTooSlow as error:  # nobody asked for anything wrongly
        pytest.exit(f"the harness itself failed before anything ran: {error}", EXIT_HARNESS_ERROR)
    except (HarnessError, SelectionError, TargetError, ReportError, pytest.UsageError) as error:
        raise pytest.UsageError(legible(str(error))) from error  # what a backend said may stand in it


def _interrupt_when_terminated(config: pytest.Config) -> None:
    """Let SIGTERM end the run as Ctrl-C does: with a report of what there is, and nothing left behind."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or hasattr(config, "workerinput") or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.add_cleanup(_end_when_terminated)


def _end_when_terminated() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _start_run(config: pytest.Config, options: RunOptions, pool: ZygotePool) -> None:
    """The process that finds the backends, and writes the report; without workers it runs the cells too."""
    facts = _facts(options)
    expectations_of(config, ())  # what is wrong with these is said before backends are prepared, which may take minutes
    native, target = _target(config, options, pool)
    descriptions = _chosen_backends(options, pool)
    _check_level(options, descriptions)
    expectations = expectations_of(config, descriptions)
    file = file_to_update(config, descriptions)
    target.expect(descriptions)
    _connect(target)
    operators = chosen_operators(config, pool, descriptions[0].toolchain)
    selection = _selection(config, options, descriptions, operators)
    _choose_suites(config)
    kept = {}
    if not config.option.collectonly:  # where nothing runs there is nothing to report
        facts = dataclasses.replace(facts, target=target.described())
        folders = _folders(config, options, facts, descriptions, operators)
        kept = {name: folder.went_before.rows for name, folder in folders.items()}
        _register_reporter(config, options, facts, descriptions, folders, expectations, file, operators, selection)
    run = _run_context(config, options, options.seed, pool, descriptions, native, target)
    _register_runner(config, options, run, expectations, operators, selection, facts.seconds)
    _register_resumer(config, kept)


def _start_worker(config: pytest.Config, options: RunOptions, message: dict[str, Any], pool: ZygotePool) -> None:
    """A worker of pytest-xdist, which the controller told what it found."""
    began = time.monotonic() - message["elapsed"]
    config.args[:] = message["args"] or found_paths(config.args)
    descriptions = [Description.from_message(each) for each in message["descriptions"]]
    native, target = _target(config, options, pool)
    target.expect(descriptions)
    run = _run_context(config, options, message["seed"], pool, descriptions, native, target)
    selection = Selection(options.select, message["failed"])
    expectations, operators = expectations_of(config, descriptions), message["operators"]
    _register_runner(config, options, run, expectations, operators, selection, began)
    _register_resumer(config, json.loads(message["kept"]))


def _register_markers(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(id): the clause of the contract that a test states")
    for level in Level:
        config.addinivalue_line("markers", f"{level.value}: cells of a clause of the level {level.value}")


def _target(config: pytest.Config, options: RunOptions, pool: ZygotePool) -> tuple[NativePool, Target]:
    """Where devices without Python come from, and the target that the options ask for."""
    native = NativePool(pool, lambda: _announce_compiling(config))
    target = open_target(options.target, pool, native)
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


def _chosen_backends(options: RunOptions, pool: ZygotePool) -> list[Description]:
    """What is known of each backend that was asked for. Raises UsageError where one cannot be used here."""
    chosen = select(options.backends, options.library, pool, options.compile_options)
    unusable = [each for each in chosen if each.description is None or not each.usable]
    if unusable:
        raise pytest.UsageError(
            "\n".join(f"the backend {each.source.name!r} cannot be used here: {each.problem}" for each in unusable)
        )
    return [each.description for each in chosen if each.description is not None]


def _check_level(options: RunOptions, descriptions: Sequence[Description]) -> None:
    for each in descriptions:
        known = levels_of(each.toolchain)
        if options.level is not None and options.level not in known:
            raise pytest.UsageError(
                f"--conformance-level={options.level.value}: backends of the toolchain {each.toolchain}, such as "
                f"{each.source.name!r}, have the levels {', '.join(level.value for level in known)}"
            )


def _selection(
    config: pytest.Config, options: RunOptions, descriptions: Sequence[Description], operators: Sequence[str]
) -> Selection:
    """The ids that were asked for. Raises UsageError for one that chooses nothing of what is installed."""
    names = [each.source.name for each in descriptions]
    selection = Selection(options.select, failed_cells(options.select, options.report, names))
    if options.select and not _names_paths(config):
        generated = not options.generated.is_nothing
        selection.expect_all_met(
            cell
            for clause in installed_clauses()
            for each in descriptions
            for cell in cells_of(clause, each, operators, generated=generated)
        )
    return selection


def _names_paths(config: pytest.Config) -> bool:
    return config.args_source is config.ArgsSource.ARGS


def _choose_suites(config: pytest.Config) -> None:
    """Collect the contract, and what extensions add to it, when no path was given."""
    if _names_paths(config):
        config.args[:] = found_paths(config.args)
    else:
        config.args[:] = [str(each.folder) for each in suite_folders()]


def _run_context(
    config: pytest.Config,
    options: RunOptions,
    seed: int,
    pool: ZygotePool,
    descriptions: Sequence[Description],
    native: NativePool,
    target: Target,
) -> RunContext:
    return RunContext(
        pool,
        seed,
        {each.source.name: each for each in descriptions},
        targets=target.pool,
        native=native,
        goldens=options.goldens,
        samples=options.operator_samples,
        generated=options.generated,
        tell=telling(config),
    )


def _register_runner(
    config: pytest.Config,
    options: RunOptions,
    run: RunContext,
    expectations: Expectations,
    operators: Sequence[str],
    selection: Selection,
    began: float,
) -> None:
    config.pluginmanager.register(_fixtures, "conformance-fixtures")
    writer = ReproducerWriter(run, options.reproducers)
    runner = Runner(run, expectations, writer, operators=operators, reruns=options.reruns)
    config.pluginmanager.register(runner, "conformance-runner")
    if options.shard is not None:
        config.pluginmanager.register(Sharder(options.shard), "conformance-sharder")
    if options.budget is not None:
        config.pluginmanager.register(Budgeter(began + options.budget.seconds), "conformance-budgeter")
    # last: the first cell is the addition whatever else orders them
    config.pluginmanager.register(AdditionFirst(run.descriptions.values()), "conformance-addition-first")
    if options.select:
        planned = hasattr(config, "workerinput") or not _names_paths(config)
        config.pluginmanager.register(Selector(selection, planned=planned), "conformance-selector")


def _facts(options: RunOptions) -> RunFacts:
    """What is known of a run when it begins: ``seconds`` is when that is, and nothing is known of the target."""
    return RunFacts(
        id=str(uuid.uuid4()),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=time.monotonic(),
        seed=options.seed,
        generated=options.generated,
        argv=options.published_arguments,
        level=options.level,
        target={},
        budget="" if options.budget is None else str(options.budget),
    )


def _register_resumer(config: pytest.Config, kept: Mapping[str, Mapping[str, dict[str, Any]]]) -> None:
    """After what else decides whether a cell is tried: what is kept needs no time."""
    if any(kept.values()):
        config.pluginmanager.register(Resumer(kept), "conformance-resumer")


def _part(options: RunOptions) -> str:
    return options.shard.folder if options.shard else PART


def _folders(
    config: pytest.Config,
    options: RunOptions,
    run: RunFacts,
    descriptions: Sequence[Description],
    operators: Sequence[str],
) -> dict[str, ReportFolder]:
    """The folder of each backend. Raises UsageError where one of them has nothing that this run can go on with."""
    found: dict[str, ReportFolder] = {}
    refused: list[str] = []
    for each in descriptions:
        try:
            found[each.source.name] = _folder(config, options, run, each, operators)
        except pytest.UsageError as error:
            refused.append(str(error))
    if refused and found:
        refused.append(f"what was interrupted of {', '.join(found)} can be gone on with: name no other backend")
    if refused:
        raise pytest.UsageError("; ".join(refused))
    return found


def _folder(
    config: pytest.Config, options: RunOptions, run: RunFacts, description: Description, operators: Sequence[str]
) -> ReportFolder:
    """Where the report of a backend goes, with what is gone on with there."""
    facts = facts_of(config, options, run, description, operators)
    root = options.report / file_name(description.source.name)
    went_before = Interrupted()
    if options.resume:
        went_before = interrupted_run(description, (root, root / _part(options)), facts)
    own = EarlierRun(id=run.id, started=run.started, argv=list(run.argv))
    begun = Begun((*went_before.runs, own), facts)
    return ReportFolder(options.report, description.source.name, begun, went_before)


def _register_reporter(
    config: pytest.Config,
    options: RunOptions,
    facts: RunFacts,
    descriptions: list[Description],
    folders: dict[str, ReportFolder],
    expectations: Expectations,
    file: ExpectationsFile | None,
    operators: Sequence[str],
    selection: Selection,
) -> None:
    part = _part(options)
    reporter = Reporter(
        config, facts, descriptions, folders, expectations, options.reproducers, operators, file, selection, part
    )
    config.pluginmanager.register(reporter, "conformance-reporter")
