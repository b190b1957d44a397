"""What an ExecuTorch device can be asked."""

from __future__ import annotations

from typing import Any

from conformance.toolchains.executorch.verbs import (  # noqa: F401  (each adds to the table)
    generated,
    inspection,
    lowering,
    native,
    operators,
    running,
)
from conformance.toolchains.executorch.verbs.session import Session, verb

__all__ = ["open_host", "open_target", "verb"]


def open_host(subject: dict[str, Any] | None) -> Session:
    """A session that lowers, for the backend that ``subject`` describes; without a partitioner when it is None."""
    return Session(subject, runs=False)


def open_target(subject: dict[str, Any] | None) -> Session:
    """A session that runs programs, with the run-time half of the backend; with ExecuTorch's kernels alone for None.
    What is generated is lowered by it too."""
    return Session(subject, runs=True)
