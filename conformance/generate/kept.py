"""The findings of a generated cell in a file, so that they are tried first next time. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance._util.files import write_atomically
from conformance.generate.serialization import as_plain, trial_from_plain
from conformance.generate.steps import Trial

#: A trial that failed, and those that have to be played before it.
KeptTrial = tuple[Trial, list[Trial]]


class Kept:
    """The findings of one cell in the file ``path``; with None nothing is read or kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        document = self._read()
        #: The findings that :meth:`trials` has not given yet.
        self.untried: list[KeptTrial] = document[0]
        self._unfinished = document[1]

    def _read(self) -> tuple[list[KeptTrial], tuple[int, int]]:
        """The content of the file; nothing if it cannot be read, as one of another release may not be."""
        try:
            document = json.loads(self._path.read_text(encoding="utf-8")) if self._path is not None else {"trials": []}
            trials = [
                (trial_from_plain(each["trial"]), list(map(trial_from_plain, each["before"])))
                for each in document["trials"]
            ]
            seed, rounds = document.get("unfinished") or (0, 0)
            return trials, (int(seed), int(rounds))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return [], (0, 0)

    def trials(self) -> Iterator[KeptTrial]:
        """The findings, one after the other."""
        while self.untried:
            yield self.untried[0]
            del self.untried[0]

    def rounds_done(self, seed: int) -> int:
        """How many rounds of a seed were done when its search was interrupted; 0 if it was not."""
        unfinished, rounds = self._unfinished
        return rounds if unfinished == seed else 0

    def write(self, trials: Sequence[KeptTrial], unfinished: tuple[int, int] | None) -> None:
        """Keep findings; and, of a search that was interrupted, its seed and the number of its finished rounds.

        Where the folder cannot be written nothing is kept, since that must not fail the cell.
        """
        if self._path is None:
            return
        document: dict[str, Any] = {
            "trials": [{"trial": as_plain(trial), "before": list(map(as_plain, before))} for trial, before in trials],
            "unfinished": unfinished,
        }
        try:
            if not trials and unfinished is None:
                self._path.unlink(missing_ok=True)
                return
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, json.dumps(document))
        except OSError:
            return
