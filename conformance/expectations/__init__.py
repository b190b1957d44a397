"""Known failures that cannot rot: they still run, and are held against what happens. See docs/expectations.md."""

from __future__ import annotations

from conformance.expectations._entry import Expectation, InstalledBackend
from conformance.expectations._file import ExpectationsError, read_entries, read_text
from conformance.expectations._judge import BackendRun, Expectations, Fault
from conformance.expectations._rewrite import ExpectationsFile
from conformance.expectations._strictness import DEFAULT, Kind, kinds_of
from conformance.expectations._update import Update, learn

__all__ = [
    "DEFAULT",
    "BackendRun",
    "Expectation",
    "Expectations",
    "ExpectationsError",
    "ExpectationsFile",
    "Fault",
    "InstalledBackend",
    "Kind",
    "Update",
    "kinds_of",
    "learn",
    "read_entries",
    "read_text",
]
