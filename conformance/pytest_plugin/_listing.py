"""``--list-backends``: names at once; with ``-v`` what comes of trying each."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from tabulate import tabulate

from conformance._util.escaping import legible
from conformance._util.quiet import ignore_missing_numpy
from conformance.api.errors import HarnessError
from conformance.devices import Limits, ZygotePool
from conformance.discovery.describing import Candidate, SelectionError, remembered_toolchain
from conformance.discovery.selecting import candidates, library_sources, sources
from conformance.toolchains import Source

#: The column of distributions is not made narrower than this.
_NARROWEST = 14
_NOT_TRIED = (
    "Nothing was tried, and no vendor's module imported: `pytest --list-backends -v` compiles and runs one addition "
    "with each."
)


def list_backends(config: pytest.Config) -> int:
    """Print every backend that can be chosen. Returns the exit code.

    With ``-v`` each is imported, loaded and tried, and with ``-vv`` those as well that PyTorch has for debugging.
    """
    ignore_missing_numpy()
    verbosity: int = config.option.verbose
    pool = ZygotePool(_limits(config) if verbosity > 0 else Limits())
    library = config.option.conformance_library
    try:
        added = library_sources(Path(library), pool) if library else []
        if verbosity > 0:
            from conformance.run.first_addition import tried

            found, left_out = candidates(pool, every=verbosity > 1)
            rows = [_row(each) for each in tried([*found, *map(Candidate, added)], pool)]
        else:
            named, left_out = sources(pool)
            rows = [_untried(source) for source in [*named, *added]]
    except (SelectionError, HarnessError) as error:
        raise pytest.UsageError(legible(str(error))) from error
    finally:
        pool.close()
    _print(rows, left_out, tried=verbosity > 0)
    return 0


def _print(rows: Iterable[tuple[str, str, str, str, str]], left_out: list[str], *, tried: bool) -> None:
    width = shutil.get_terminal_size().columns
    print(legible(backends_text(list(rows), width)))
    others = f"PyTorch brings along for debugging and testing (-vv tries them): {', '.join(left_out)}"
    for text in ([] if tried else [_NOT_TRIED], [others] if left_out else []):
        for each in text:
            print("\n" + textwrap.fill(legible(each), width, break_long_words=False, break_on_hyphens=False))


def _limits(config: pytest.Config) -> Limits:
    from conformance.pytest_plugin._options import limits_of

    return limits_of(config)


def _untried(source: Source) -> tuple[str, str, str, str, str]:
    toolchain = source.toolchain or remembered_toolchain(source) or "?"
    return source.name, toolchain, "not tried", _distribution(source), ""


def _row(candidate: Candidate) -> tuple[str, str, str, str, str]:
    described, source = candidate.description, candidate.source
    toolchain = described.toolchain if described else source.toolchain or "?"
    return source.name, toolchain, "no" if candidate.problem else "yes", _distribution(source), candidate.problem


def _distribution(source: Source) -> str:
    if source.library:
        return Path(source.library).name
    return f"{source.distribution} {source.version}".strip()


def backends_text(rows: Sequence[tuple[str, str, str, str, str]], width: int) -> str:
    """Rows of name, toolchain, whether it is usable, distribution, and why it is not, if so."""
    headers = ("backend", "toolchain", "usable", "distribution")
    # tabulate leaves two places beside each header, and two between columns
    taken = sum(max([len(headers[column]) + 2, *(len(row[column]) for row in rows)]) + 2 for column in range(3))
    body = [(*facts, textwrap.fill(distribution, max(_NARROWEST, width - taken))) for *facts, distribution, _ in rows]
    problems = [
        textwrap.fill(f"{name} cannot be used here: {problem}", width, initial_indent="  - ", subsequent_indent="    ")
        for name, *_, problem in rows
        if problem
    ]
    return "\n".join([tabulate(body, headers=headers, tablefmt="simple"), *(["", *problems] if problems else [])])
