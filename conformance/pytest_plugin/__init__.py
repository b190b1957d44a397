"""The pytest plugin: options, and nothing else until a backend is chosen.

This module is imported by every pytest run of an environment that has the harness installed. It imports pytest and
the standard library only; what costs time is imported when an option asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Generator

import pytest

from conformance._util.quiet import open_streams
from conformance.pytest_plugin._ini import add_option, from_file

#: Beside pytest's own exit codes: the run lost cells, or the harness itself failed.
EXIT_INCOMPLETE = 10
EXIT_HARNESS_ERROR = 11

_STRICT = "passed,changed,unmatched,expired"
_LEVELS = ("core", "mobile", "complete")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the namespaced options, each with a setting of its name; the short ``--backend`` comes later, if nobody
    else has it."""
    group = parser.getgroup("conformance", "conformance of PyTorch backends")
    add = functools.partial(add_option, parser, group)
    add(
        "--conformance-backend",
        action="append",
        default=[],
        metavar="NAME",
        help="try the contract on this backend (repeatable): NAME, or TOOLCHAIN:NAME where two have it, or "
        "MODULE:NAME of an author's class in a module, or of one that the module registers when it is imported, or has "
        "as a function; also --backend, where nothing else has that option",
    )
    add(
        "--conformance-library",
        metavar="PATH",
        help="a shared library that registers TorchScript backends; they are tried without a plugin",
    )
    add(
        "--conformance-select",
        action="append",
        default=[],
        metavar="ID,...",
        help="try only these (repeatable), by any id that the harness prints: a suite, the id of a clause, of a cell, "
        "of a test, or of a cause, or the fingerprint of a failure; the last two are looked up in the last report",
    )
    group.addoption(
        "--list-backends",
        action="store_true",
        help="show which backends there are, and exit; with -v, whether each can add two tensors here",
    )
    add(
        "--conformance-compile-options",
        action="append",
        default=[],
        metavar="JSON",
        help="a JSON object for torch.compile(options=...); each (repeatable) is an entry of its own in the reports",
    )
    add(
        "--conformance-report",
        metavar="DIR",
        default="conformance-report",
        help="the folder for reports: report.json, report.html and more in DIR/BACKEND (default: %(default)s)",
    )
    add(
        "--conformance-level",
        choices=_LEVELS,
        help="what the backend must reach for exit code 0 (default: the highest level that has clauses)",
    )
    add(
        "--conformance-seed",
        metavar="N",
        default="0",
        help="the seed of models' weights and inputs, and of what is generated, a whole number or 'random' "
        "(default: %(default)s)",
    )
    add(
        "--conformance-timeout",
        metavar="S",
        type=float,
        default=60.0,
        help="seconds that a backend has for one step, such as lower, save, load or run (default: %(default)s)",
    )
    add(
        "--conformance-memory",
        metavar="GIB",
        type=float,
        default=8.0,
        help="memory that each process with the backend may take beyond torch's own (default: %(default)s)",
    )
    add(
        "--conformance-target",
        metavar="SPEC",
        default="local",
        help="where artifacts are loaded and run: 'local', a process with Python; 'native', a program without it; or a "
        "Python elsewhere, as execnet names it: ssh=USER@HOST//python=PATH (default: %(default)s)",
    )
    add(
        "--conformance-expectations",
        metavar="FILE",
        help="known failures as a TOML file: they still run, and must go on failing as recorded",
    )
    add(
        "--conformance-goldens",
        metavar="DIR",
        help="golden sets of former releases (see `conformance goldens`), which must load and compute the same today",
    )
    add(
        "--conformance-reproducers",
        metavar="N",
        type=int,
        default=3,
        help="write a script that shows a failure without the harness, for the first N failing cells of each clause, "
        "verdict and phase; 0: none (default: %(default)s)",
    )
    add(
        "--conformance-operators",
        metavar="all|NAME,...",
        help="also try PyTorch's operators on samples of its own tests, and report which dtypes of each are taken",
    )
    add(
        "--conformance-operator-samples",
        metavar="N",
        type=int,
        default=3,
        help="how many samples of an operator are tried in each dtype (default: %(default)s)",
    )
    add(
        "--conformance-generated",
        metavar="N|TIME|0",
        default="4m",
        help="how much is generated: N programs in each generated cell (a tenth as many scenarios); or a time such as "
        "30s, 5m or 2h, for the generated cells of a backend together; 0: nothing (default: %(default)s)",
    )
    add(
        "--conformance-update-expectations",
        action="store_true",
        help="after the run, write into the file of expectations what it came to; review the difference",
    )
    group.addoption(
        "--conformance-strict-expectations",
        metavar="KIND,...",
        help="what is wrong about an expectation and fails the run: passed, changed, unmatched, expired, unexplained; "
        "'all' or 'none' (default: the ini setting conformance_strict_expectations)",
    )
    parser.addini(
        "conformance_strict_expectations",
        f"what is wrong about an expectation and fails the run (default: {_STRICT})",
        default=_STRICT,
    )
    add(
        "--conformance-shard",
        metavar="K/N",
        help="try the K-th of N parts of what is selected; `conformance merge` joins the reports of all",
    )
    add(
        "--conformance-budget",
        metavar="TIME",
        help="the time of the run, such as 30s, 5m or 2h: cells are tried in the order of their levels, core first, "
        "and what has not begun when it is over is left out, which the report says",
    )
    add(
        "--conformance-resume",
        action="store_true",
        help="go on with the run of the same backend and options that was interrupted, or whose time was over: what it "
        "finished is not tried again",
    )
    add(
        "--conformance-go-on",
        action="store_true",
        help="go on where one addition and every other cell so far fail alike, which else stops a whole run",
    )
    add(
        "--conformance-reruns",
        metavar="N",
        type=int,
        default=1,
        help="how often a cell that fails is tried again; it is FLAKY if it does not fail in the same way "
        "(default: %(default)s)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Put what the project's settings say before the command line, which wins; and add ``--backend`` once the initial
    conftests have loaded, unless one of them owns it."""
    open_streams()
    args[:0] = from_file(early_config, args)
    result = yield
    if not _is_taken(parser, "--backend"):
        parser.getgroup("conformance").addoption(
            "--backend", action="append", dest="conformance_backend", metavar="NAME", help="see --conformance-backend"
        )
    return result


def _is_taken(parser: pytest.Parser, name: str) -> bool:
    """Whether some plugin or conftest has registered the option. Not in pytest's public interface: asking for it by
    registering, which is, raises at once in some releases of pytest and only when parsing in others."""
    groups = (parser._anonymous, *parser._groups)
    return any(name in option.names() for group in groups for option in group.options)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer ``--list-backends``."""
    if not config.option.list_backends:
        return None
    from conformance.pytest_plugin._listing import list_backends

    return list_backends(config)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the rest of the plugin when a backend is chosen."""
    if config.option.list_backends or not (config.option.conformance_backend or config.option.conformance_library):
        return
    from conformance._util.collector import lasting_objects
    from conformance.devices import ZygotePool
    from conformance.pytest_plugin._names import expect_known_names, zygotes_to_start
    from conformance.pytest_plugin._options import parse

    options = parse(config)
    expect_known_names(config)
    pool = ZygotePool(options.limits)
    try:
        for kind in zygotes_to_start(config):
            pool.start(kind)
        with lasting_objects():
            from conformance.pytest_plugin._start import start  # imports torch, which the zygotes do at the same time

            start(config, options, pool)
    except BaseException:
        pool.close()
        raise


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Explain what is missing when clauses are collected and no backend is chosen."""
    if config.pluginmanager.has_plugin("conformance-runner"):
        return
    if any(hasattr(getattr(item, "function", None), "__clause__") for item in items):
        raise pytest.UsageError(
            "the conformance suites need a backend: pytest --backend=NAME (pytest --list-backends shows what there is)"
        )


__all__ = ["EXIT_HARNESS_ERROR", "EXIT_INCOMPLETE"]
