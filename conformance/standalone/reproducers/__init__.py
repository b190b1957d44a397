"""Failures as scripts that need torch and the backend, and nothing of the harness.

A cell that fails leaves a trace: what its devices were asked, and what came of it. From that a folder is written:
``reproduce.py``, the values that it needs in ``inputs.pt``, and the artifacts that were saved.
"""

from __future__ import annotations

from conformance.standalone.reproducers._script import Reproducer
from conformance.standalone.reproducers._writer import ReproducerWriter

__all__ = ["Reproducer", "ReproducerWriter"]
