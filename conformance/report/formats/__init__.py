"""What a report can be written as: the page, Markdown, CTRF, badges, and the terminal.

Extensions add formats by the hook ``conformance_report_formats``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from conformance.extensions import ExtensionError, Format, given

__all__ = ["Format", "formats"]


@functools.cache
def formats() -> Mapping[str, Format]:
    """Every format by its name. Raises ExtensionError where two have one name or one file."""
    found: dict[str, Format] = {}
    files = {"report.json", "cells.jsonl", "run.json"}
    for each in given("conformance_report_formats", Format):
        if each.name in found or each.file in files:
            raise ExtensionError(
                f"two extensions give a report format {each.name!r}, or one that is written to {each.file}"
            )
        found[each.name] = each
        files.add(each.file)
    return found
