"""Assertions for clauses of every toolchain, whose failures say what was expected and what was found."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping

from conformance.api.availability import is_as_expected
from conformance.api.errors import ConformanceFailure, DeviceDied, SubjectError

__all__ = ["Refusal", "assert_as_expected", "assert_names", "check", "refused"]


def check(holds: bool, otherwise: str) -> None:
    """Raise ConformanceFailure with the text unless it holds."""
    if not holds:
        raise ConformanceFailure(otherwise)


@dataclasses.dataclass
class Refusal:
    """What a refusal said; filled when the block of :func:`refused` ends."""

    what: str
    type: str = ""
    text: str = ""
    error: SubjectError | None = None

    def is_a(self, name: str) -> bool:
        """Whether it was an exception whose class, or a base of that, has this name (``torch.jit.Error``)."""
        return self.error is not None and self.error.is_a(name)


@contextlib.contextmanager
def refused(what: str, *, even_by_ending: bool = False) -> Iterator[Refusal]:
    """A block in which the subject must refuse ``what`` with an exception.

    With ``even_by_ending`` its process may also end with a message, as PyTorch's does at a second registration.
    Raises ConformanceFailure when nothing is refused, or when the exception has no text.
    """
    refusal = Refusal(what)
    try:
        yield refusal
    except SubjectError as error:
        refusal.type, refusal.text, refusal.error = error.type, error.text, error
        check(bool(error.text.strip()), f"{what}: refused with {error.type}, which says nothing")
        return
    except DeviceDied as error:
        if not even_by_ending:
            raise
        refusal.type, refusal.text = str(error.signal or error.exit_code), error.stderr
        return
    raise ConformanceFailure(f"{what}: expected an error, but it was accepted")


def assert_names(refusal: Refusal, name: str) -> None:
    """The refusal's text holds the name. Raises ConformanceFailure."""
    check(name in refusal.text, f"{refusal.what}: the error does not name {name!r}: {refusal.text.strip():.300}")


def assert_as_expected(expected: Mapping[str, str], observed: Mapping[str, str]) -> None:
    """Every step of a behaviour table's row had its expected outcome. Raises ConformanceFailure, which names the steps
    that had another one."""
    differences = [
        f"{step}: expected {expected.get(step, 'nothing')}, observed {observed.get(step, 'nothing')}"
        for step in {**expected, **observed}
        if not is_as_expected(expected.get(step), observed.get(step))
    ]
    if differences:
        raise ConformanceFailure("; ".join(differences))
