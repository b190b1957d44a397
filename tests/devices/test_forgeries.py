"""What no look at a process shows, as docs/forgeries.md says; and that each of its rows is tried by a test."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support.misbehaving import device, misbehaving_pool
from support.places import REPOSITORY
from support.project import Project

from conformance.devices import ZygotePool


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZygotePool]:
    with misbehaving_pool(tmp_path_factory.mktemp("site")) as pool:
        yield pool


def test_each_row_of_the_table_is_tried_by_a_test() -> None:
    rows = [
        line.rstrip(" |").rpartition("| ")[2]
        for line in (REPOSITORY / "docs" / "forgeries.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith(("| ---", "| forgery"))
    ]
    assert len(rows) >= 20
    for row in rows:
        found = re.fullmatch(r"`(?P<file>tests/\S+\.py)::(?P<name>test_\w+)`", row)
        assert found, row
        text = (REPOSITORY / found["file"]).read_text(encoding="utf-8")
        assert f"def {found['name']}(" in text, row


PUT_BACK = """
import torch
inner, torch.jit.script = torch.jit.script, print
torch.jit.script = inner
"""
#: Every difference is found, and none is told.
BLINDED = """
from conformance.devices._imprint import Imprint
import torch
Imprint.differences = lambda self, *objects: []
torch.jit.script = print
"""


def test_what_is_put_back_in_time_shows_nowhere(pool: ZygotePool) -> None:
    child = device(pool, PUT_BACK)
    assert child.call("register", {}, "register").raised is None
    child.call("release", {}, "release")
    child.end()


def test_who_replaces_the_look_itself_is_not_seen(pool: ZygotePool) -> None:
    child = device(pool, BLINDED)
    assert child.call("register", {}, "register").raised is None
    child.call("release", {}, "release")
    child.end()


TELLING = """
import sys
parent = open(f"/proc/{os.getppid()}/cmdline").read().split("\\0")
raise ValueError([
    sorted(name for name in os.environ if "CONFORMANCE" in name or "PYTEST" in name),
    "conformance" in sys.modules and "execnet" in sys.modules, "pytest" in sys.modules,
    [part.rpartition("/")[2] for part in parent if part.endswith(".py")],
])
"""


def test_a_backend_can_tell_that_it_is_tested(pool: ZygotePool) -> None:
    """By what the page names, and by no variable of the environment."""
    child = device(pool, TELLING)
    raised = child.call("register", {}, "register").raised
    assert raised is not None
    assert raised["text"] == "[[], True, False, ['_zygote.py']]"
    child.end()


BY_PYTORCH = """
    def compiler(graph, example_inputs):
        return graph.forward
"""


def test_a_backend_may_have_pytorch_compute(project: Project) -> None:
    project.install("idle", BY_PYTORCH, "compiler", "torch_dynamo_backends")
    run = project.run("--backend=idle", "-k", "test_outputs and not kept and dynamo_lowering and chain")
    assert {verdict for verdict, _ in run.verdicts("idle").values()} == {"PASS"}, run.output
