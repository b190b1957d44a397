"""``--list-backends``."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import pytest

from conformance._util.quiet import ignore_missing_numpy
from conformance.api.errors import HarnessError
from conformance.devices import ZygotePool
from conformance.discovery.describing import Candidate, SelectionError
from conformance.discovery.selecting import candidates, library_sources
from conformance.pytest_plugin._options import limits_of
from conformance.report import legible
from conformance.toolchains import Source


def list_backends(config: pytest.Config) -> int:
    """Print every backend that can be chosen, and whether it can be used here. Returns the exit code."""
    ignore_missing_numpy()
    from conformance.report.formats.terminal import backends_text

    pool = ZygotePool(limits_of(config))
    try:
        found, left_out = candidates(pool, every=config.option.verbose > 0)
        if config.option.conformance_library:
            sources = library_sources(Path(config.option.conformance_library), pool)
            found += [Candidate(source) for source in sources]
    except (SelectionError, HarnessError) as error:
        raise pytest.UsageError(legible(str(error))) from error
    finally:
        pool.close()
    rows = [(each.source.name, _toolchain(each), _distribution(each.source), each.problem) for each in found]
    width = shutil.get_terminal_size().columns
    print(legible(backends_text(rows, width)))
    if left_out:
        others = f"PyTorch brings along for debugging and testing (-v examines them): {', '.join(left_out)}"
        print("\n" + legible(textwrap.fill(others, width, break_long_words=False)))
    return 0


def _toolchain(candidate: Candidate) -> str:
    if candidate.description is not None:
        return candidate.description.toolchain
    return candidate.source.toolchain or "?"


def _distribution(source: Source) -> str:
    if source.library:
        return Path(source.library).name
    return f"{source.distribution} {source.version}".strip()
