"""Every result that a graded clause asks for is looked at: where the numbers of one are others, its cell fails."""

from __future__ import annotations

import pytest
from support.campaigns.unseen import unseen

#: What is asked for and not held against anything, by a conforming backend that is asked, by clause and verb; and why.
EXPLAINED = {
    "reference": {"native.lowering given_spec": "a program lowers with it, and what it gives is looked at"},
    "dynamo_control": {
        "modes.after-threads run_in_threads": "the clause is about what comes after the threads, whatever they came to",
        "modes.seeds run_seeded": "what is drawn is for the seed to say; training.dropout looks at the values",
        "modes.threads run_in_threads": "that several threads call at once is reported: nothing promises it",
    },
}


@pytest.mark.parts
@pytest.mark.parametrize("backend", EXPLAINED)
def test_a_wrong_result_fails_its_cell(backend: str) -> None:
    tried, found = unseen(backend)
    assert tried >= 200
    assert {f"{each.clause} {each.verb}" for each in found} == set(EXPLAINED[backend])


def test_a_clause_that_looks_at_nothing_is_found() -> None:
    """Else the search would only show that wrong numbers are refused somewhere on the way."""
    tried, found = unseen("dynamo_control", lambda clause: clause == "modes.seeds")
    assert tried == 3
    assert [each.verb for each in found] == ["run_seeded"] * 3
