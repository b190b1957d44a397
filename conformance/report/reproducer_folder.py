"""The reproducers of a report: a folder beside report.json for each, and none of an earlier run among them."""

from __future__ import annotations

import base64
import collections
import contextlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance._util.files import write_atomically
from conformance.report._json import ReportError

#: The first line of every script, by which a later run knows what is its own to remove.
MARK = "# Written by torch-conformance: a failure of a backend, to be seen without the harness."
#: The script that is read and run, and what it imports.
SCRIPT, SUPPORT = "reproduce.py", "support.py"
#: How many of the failures that have none are named.
_SHOWN = 5


class ReproducerFolder:
    """``DIR/BACKEND/reproducers``. ``most`` is how many cells of a group of failures have one."""

    def __init__(self, report_folder: Path, most: int) -> None:
        self.path = report_folder / "reproducers"
        self._most = most
        self._written: collections.Counter[tuple[str, ...]] = collections.Counter()
        self._problems: list[str] = []

    def write(self, row: dict[str, Any], message: dict[str, Any]) -> str | None:
        """Write a reproducer; where its script lies, relative to report.json. None if the group has enough of them.

        Every process of a run counts for itself, so that more may come than are wanted. Raises ReportError.
        """
        if "problem" in message:
            self._problems.append(message["problem"])
            return None
        group = (row["clause"], row["verdict"], row["phase"])
        if self._written[group] >= self._most:
            return None
        try:
            for each in (message, *message.get("others", ())):
                folder = self.path / each["name"]
                folder.mkdir(parents=True, exist_ok=True)
                for name, data in each["files"].items():
                    write_atomically(folder / name, base64.b64decode(data))
        except OSError as error:
            raise ReportError(f"the reproducers cannot be written to {self.path}: {error.strerror}") from error
        self._written[group] += 1 + len(message.get("others", ()))
        return f"reproducers/{message['name']}/{SCRIPT}"

    def keep(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Count the reproducers that an interrupted run wrote for these rows, which stay."""
        self._written.update((row["clause"], row["verdict"], row["phase"]) for row in rows if "reproducer" in row)

    def summary(self) -> list[str]:
        """Where the reproducers are, for the end of a run; and which failures have none."""
        lines = []
        if count := self._written.total():
            lines.append(f"reproducers: {self.path} ({count} script{'s' if count > 1 else ''})")
        shown = self._problems[:_SHOWN]
        lines += [f"no reproducer for {problem}" for problem in shown]
        if len(self._problems) > len(shown):
            lines.append(f"no reproducer for {len(self._problems) - len(shown)} more")
        return lines

    def gather(self, report_folders: Iterable[Path]) -> int:
        """Copy the reproducers that lie beside other reports, so that those of the shards of a run are beside the
        whole; how many there are then. Of two with one name it keeps the first. Raises ReportError."""
        try:
            for folder in report_folders:
                for script in ReproducerFolder(folder, 0).scripts():
                    target = self.path / script.parent.name
                    if not target.exists():
                        shutil.copytree(script.parent, target, symlinks=True)
        except (OSError, shutil.Error) as error:
            raise ReportError(f"the reproducers cannot be copied to {self.path}: {error}") from error
        return len(self.scripts())

    def scripts(self) -> list[Path]:
        """The scripts of reproducers that are in the folder."""
        found = []
        for script in sorted(self.path.glob(f"*/{SCRIPT}")):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if script.read_text(encoding="utf-8").startswith(MARK):
                    found.append(script)
        return found

    def clear(self) -> None:
        """Remove the reproducers of an earlier run, and nothing that somebody else put there."""
        for script in self.scripts():
            with contextlib.suppress(OSError):
                _remove(script.parent)
        with contextlib.suppress(OSError):
            self.path.rmdir()  # if nothing else is in it


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        ours = file.name in (SCRIPT, SUPPORT, "inputs.pt") or file.name.startswith(("artifact-", "altered-"))
        if ours and file.is_file():
            file.unlink()
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    folder.rmdir()
