"""Sets of options: what a backend is called with them, and that they hide nothing of it."""

from __future__ import annotations

from conformance.discovery.describing import Candidate
from conformance.discovery.selecting import _suffix, _with_options
from conformance.toolchains import Source


def test_options_hide_nothing_of_a_backend_that_cannot_be_used() -> None:
    broken = Candidate(Source("broken"), problem="import raised ModuleNotFoundError: no vendor")
    assert _with_options(broken, [{"level": 1}]) == [broken]


def test_names_of_option_sets_are_fit_for_folders() -> None:
    assert _suffix({}) == ""
    assert _suffix({"b": True, "a": 1.5}) == "+a=1.5+b=True"
    for options in ({"path": "a/b"}, {"n": {"m": [1]}}, {"long": "x" * 60}):
        assert _suffix(options).startswith("+options-")
        assert "/" not in _suffix(options)
    assert _suffix({"a": "/1"}) != _suffix({"a": "/2"})
