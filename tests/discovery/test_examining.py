"""What an author's class may be made of, and what is said of one that no message can tell of."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.devices import Limits, ZygotePool
from conformance.discovery.checking import plain
from conformance.discovery.describing import Candidate, examine
from conformance.toolchains import Source

CLASSES = """
    import enum

    import numpy

    from conformance import Environment, Features, Tolerance, features
    from torch_conformance_saboteurs.backends import PythonControl

    class Words(enum.StrEnum):
        NAME = "eager"
        REASON = "it has no kernel"
        VALUE = "on"

    class Path(str):
        pass

    class Derived(PythonControl):
        name = Words.NAME
        features = Features.all().without(features.loops, Words.REASON)
        tolerances = {Path("float32"): Tolerance(numpy.float64(1e-3), numpy.float64(1e-4))}
        available = Environment(DERIVED=Words.VALUE)
        goldens = Path("goldens")

        def prepare(self):
            return Environment(PREPARED=Words.VALUE)

    class SurrogateName(PythonControl):
        name = "eager\\ud800"

    class SurrogateReason(PythonControl):
        name = "eager"
        features = Features.all().without(features.loops, "none\\ud800")
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZygotePool]:
    """Devices that can import the classes above."""
    folder = tmp_path_factory.mktemp("classes")
    (folder / "classes_of_authors.py").write_text(textwrap.dedent(CLASSES))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        opened = ZygotePool(Limits())
        yield opened
        opened.close()


def examined(name: str, pool: ZygotePool) -> Candidate:
    return examine(Source(name.lower(), value=f"classes_of_authors:{name}"), pool, prepare=True)


def test_what_derives_from_a_builtin_type_is_as_good(pool: ZygotePool) -> None:
    candidate = examined("Derived", pool)
    assert candidate.usable, candidate.problem
    found = candidate.description
    assert found is not None
    assert (found.name, found.goldens, found.prepared) == ("eager", "goldens", {"PREPARED": "on"})
    assert found.missing_features == {"loops": "it has no kernel"}
    assert found.tolerances == {"float32": (1e-3, 1e-4)}
    assert found.states["yes/yes"] == {"DERIVED": "on"}


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("SurrogateName", "name must be a string that UTF-8 can encode, found str: 'eager\\ud800'"),
        ("SurrogateReason", "the harness itself failed in describe: the value of the verb cannot be sent: "),
    ],
)
def test_what_no_message_can_tell_of_is_a_problem_of_its_source(name: str, complaint: str, pool: ZygotePool) -> None:
    candidate = examined(name, pool)
    assert complaint in candidate.problem
    assert not candidate.usable


def test_plain_values_are_what_they_were() -> None:
    values = {"a": [True, None, 1, 1.5, "b", b"c"], "d": ({"e": ()},)}
    assert plain(values) == values
    assert [type(each) for each in plain(values)["a"]] == [bool, type(None), int, float, str, bytes]
    assert plain(Path("/a")) == Path("/a")
