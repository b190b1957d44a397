"""What a generated cell found, in a file, so that it is tried first next time. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance._util.files import write_atomically
from conformance.generate.program import Trial, as_plain, trial_from_plain

#: A trial that failed, and those that have to be played before it.
KeptTrial = tuple[Trial, list[Trial]]


class Kept:
    """The file of one cell; None where nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        document = self._read()
        #: What was found before, and was not given out by :meth:`trials` yet.
        self.untried: list[KeptTrial] = document[0]
        self._unfinished = document[1]

    def _read(self) -> tuple[list[KeptTrial], tuple[int, int]]:
        """What the file says; nothing where it is of another release, whose findings are found again, or not."""
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
        """What was found before, one after the other."""
        while self.untried:
            yield self.untried[0]
            del self.untried[0]

    def rounds_done(self, seed: int) -> int:
        """How many rounds of a seed a search had done when it was interrupted; 0 where none was."""
        unfinished, rounds = self._unfinished
        return rounds if unfinished == seed else 0

    def write(self, trials: Sequence[KeptTrial], unfinished: tuple[int, int] | None) -> None:
        """Keep what was found, and of a search that was interrupted its seed and how many rounds were done.

        Where the folder cannot be written, nothing is kept: what a cell comes to is worth more.
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
