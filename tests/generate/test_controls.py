"""Backends that keep the contract, most of them in unusual ways: generated cells say nothing against any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib.metadata import entry_points

import pytest
from support.project import Run

from conformance.api.backend import Backend

DISTRIBUTION = "torch-conformance-unusual"
UNUSUAL = sorted(
    each.name
    for each in entry_points(group="conformance_backends")
    if each.dist is not None and each.dist.name == DISTRIBUTION
)
ORDINARY = ["reference", "python_control", "dynamo_control", "eager", "aot_eager"]
#: The clauses whose cells are generated.
GENERATED = "test_programs or test_scenarios or test_drawn"


def test_each_toolchain_has_more_than_ten_and_each_says_what_is_unusual() -> None:
    found = {each.name: each.load() for each in entry_points(group="conformance_backends") if each.name in UNUSUAL}
    assert all(issubclass(each, Backend) and each.name == name for name, each in found.items())
    statements = [(each.toolchain, " ".join((each.__doc__ or "").split())) for each in found.values()]
    assert all(20 < len(statement) < 200 for _, statement in statements)
    assert len(set(statements)) == len(statements)
    counts = Counter(each.toolchain for each in found.values())
    assert min(counts["torchscript"], counts["dynamo"]) >= 10


@pytest.mark.parametrize("backend", ["unusual_script_interpreter", "unusual_script_double", "unusual_script_padding"])
def test_what_interprets_a_program_runs_what_calls_functions_of_it(
    backend: str, shared_run: Callable[..., Run]
) -> None:
    """Where it is loaded by another process, functions that are called are not always in the graph of their callers."""
    run = shared_run(f"--backend={backend}", "--conformance-select=save-load.same-outputs", "-k", "conv_net")
    assert run.exit_code == 0, run.output
    assert run.report(backend)["summary"]["verdicts"] == {"PASS": 1}


@pytest.mark.slow
@pytest.mark.parametrize("backend", [*ORDINARY, *UNUSUAL])
def test_a_backend_that_keeps_the_contract_raises_no_alarm(backend: str, shared_run: Callable[..., Run]) -> None:
    run = shared_run(f"--backend={backend}", "-k", GENERATED, "--conformance-generated=50", "-n", "2")
    assert run.exit_code == 0, run.output
    cells = [row for row in run.report(backend)["cells"] if "generated" in row]
    assert len(cells) > 10
    assert [finding for row in cells for finding in row["generated"]["findings"]] == []
    assert min(row["generated"]["tried"] for row in cells) >= 5
