"""The compatibility report: its schema, how it is built, kept and read, and the formats that it is shown in.

Everything that a person sees of a report is derived from the one JSON document.
"""

from __future__ import annotations

from conformance._util.escaping import legible, printable, without_commands
from conformance._util.files import write_atomically
from conformance.report._build import RunFacts, assemble, build_report
from conformance.report._json import ReportError
from conformance.report._store import PART, REPORT, ReportFolder, read_report, report_schema, write_report
from conformance.report.reproducer_folder import ReproducerFolder

__all__ = [
    "PART",
    "REPORT",
    "ReportError",
    "ReportFolder",
    "ReproducerFolder",
    "RunFacts",
    "assemble",
    "build_report",
    "legible",
    "printable",
    "read_report",
    "report_schema",
    "without_commands",
    "write_atomically",
    "write_report",
]
