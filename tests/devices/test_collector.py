"""What the garbage collector need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from conformance._util.collector import lasting_objects


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_there_is_behind_the_block_is_looked_at_no_more() -> None:
    with lasting_objects():
        assert not gc.isenabled()
        made: list[object] = [[]]
    assert gc.isenabled()
    assert not any(each is made for each in gc.get_objects())


def test_a_block_that_fails_leaves_a_collector_that_works() -> None:
    with pytest.raises(ZeroDivisionError), lasting_objects():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with lasting_objects():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
