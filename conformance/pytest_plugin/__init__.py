"""The pytest plugin: options, and nothing else until a backend is chosen.

This module is imported by every pytest run of an environment that has the harness installed. It imports pytest and
the standard library only; what costs time is imported when an option asks for it.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

#: Beside pytest's own exit codes: the run lost cells, or the harness itself failed.
EXIT_INCOMPLETE = 10
EXIT_HARNESS_ERROR = 11

_LEVELS = ("core", "mobile", "complete")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the namespaced options; the short ``--backend`` comes later, if nobody else has it."""
    group = parser.getgroup("conformance", "conformance of PyTorch backends")
    group.addoption(
        "--conformance-backend",
        action="append",
        default=[],
        metavar="NAME",
        help="certify this backend (repeatable); also --backend, where no other plugin or conftest has that option",
    )
    group.addoption(
        "--conformance-library",
        metavar="PATH",
        help="a shared library that registers TorchScript backends, for which no plugin is needed",
    )
    group.addoption(
        "--conformance-compile-options",
        action="append",
        default=[],
        metavar="JSON",
        help="a JSON object for torch.compile(options=...); each (repeatable) is an entry of its own in the reports",
    )
    group.addoption("--list-backends", action="store_true", help="show the backends that can be certified, and exit")
    group.addoption(
        "--conformance-report",
        metavar="DIR",
        default="conformance-report",
        help="where DIR/BACKEND/report.json and cells.jsonl are written (default: %(default)s)",
    )
    group.addoption(
        "--conformance-level",
        choices=_LEVELS,
        help="the level that the run must reach to succeed (default: the highest that the contract has clauses for)",
    )
    group.addoption(
        "--conformance-seed",
        metavar="N",
        default="0",
        help="the seed of weights and inputs, a number or 'random' (default: %(default)s)",
    )
    group.addoption(
        "--conformance-timeout",
        metavar="S",
        type=float,
        default=60.0,
        help="seconds that a backend has for one verb: lower, save, load, run, ... (default: %(default)s)",
    )
    group.addoption(
        "--conformance-memory",
        metavar="GIB",
        type=float,
        default=8.0,
        help="memory that a device may allocate beyond what torch takes (default: %(default)s)",
    )
    group.addoption(
        "--conformance-expectations",
        metavar="FILE",
        help="known failures (TOML), which still run and are held against what happens",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Add ``--backend`` once the initial conftests have loaded, unless one of them owns it."""
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
    from conformance.pytest_plugin._start import start

    start(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Explain what is missing when clauses are collected and no backend is chosen."""
    if config.pluginmanager.has_plugin("conformance-runner"):
        return
    if any(hasattr(getattr(item, "function", None), "__clause__") for item in items):
        raise pytest.UsageError(
            "the conformance suites need a backend: pytest --backend=NAME (pytest --list-backends shows what there is)"
        )


__all__ = ["EXIT_HARNESS_ERROR", "EXIT_INCOMPLETE"]
