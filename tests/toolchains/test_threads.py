"""Work in several threads at once: whatever ends one of them is told."""

from __future__ import annotations

import pytest

from conformance.toolchains.threads import Findings, work_at_once


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no"), "ValueError: no"),
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit: "),
        (Unprintable(), "Unprintable: (Unprintable cannot say what it is: SystemExit)"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
    ],
)
def test_what_ends_a_thread_is_told(error: BaseException, told: str) -> None:
    found = Findings(1)

    def work(index: int) -> None:
        if index == 1:
            raise error
        found.note(0, index)

    work_at_once(work, 3, found)
    assert found.errors == [told]
    assert len(found.as_message()["results"][0]) == 2
