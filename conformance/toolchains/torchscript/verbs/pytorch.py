"""Verbs about PyTorch itself, which a backend leaves as it is."""

from __future__ import annotations

from typing import Any

from conformance.toolchains.pytorch_state import changes_since
from conformance.toolchains.torchscript.verbs.session import Session, verb


@verb
def pytorch_changes(session: Session, imports: list[str]) -> dict[str, Any]:
    """What of PyTorch itself has changed in this process since it began; the modules are imported first."""
    return changes_since(imports)
