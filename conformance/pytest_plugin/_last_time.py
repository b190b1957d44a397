"""How long a run may take: what the last one of the same cells took."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from conformance.report import REPORT, ReportError
from conformance.report._json import parse, read_bytes
from conformance.run.plan import digest_of_ids


def last_time(folder: Path, cells: Iterable[str]) -> str:
    """What the report in a folder says of the time of these cells, in a line.

    Empty where it is of other cells, of a run that was not complete or went on with another, or where there is none.
    """
    path = folder / REPORT
    if not path.is_file():
        return ""
    try:
        report = parse(read_bytes(path), path.name)
        run, plan = report["run"], report["plan"]
        if plan["sha256"] != digest_of_ids(cells) or not run["complete"] or "resumed" in run or "shards" in run:
            return ""
        seconds, options = round(run["seconds"]), " ".join(run["argv"])
    except (ReportError, LookupError, TypeError):
        return ""
    minutes, rest = divmod(seconds, 60)
    return (
        f"the last run of these {plan['cells']} cells took {f'{minutes} min ' if minutes else ''}{rest} s ({options})"
    )
