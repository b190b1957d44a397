"""The plan: cells that are decided before anything runs."""

from __future__ import annotations

import dataclasses

from support.descriptions import ANY_BACKEND

from conformance.api.verdicts import Verdict
from conformance.contract import shipped_clauses
from conformance.run.plan import cells_of
from conformance.toolchains import corpus

CLAUSES = {each.id: each for each in shipped_clauses()}
REASON = "programs run on telephones"


def test_of_a_backend_that_only_lowers_nothing_is_asked_that_has_to_run() -> None:
    only_lowers = dataclasses.replace(ANY_BACKEND, only_lowers=REASON)
    for asked, operators in (("save-load.same-outputs", ()), ("generated.programs", ()), ("operators.table", ("add",))):
        clause = CLAUSES[asked]
        assert {cell.decided for cell in cells_of(clause, ANY_BACKEND, operators)} == {None}
        found = {(cell.decided, cell.why) for cell in cells_of(clause, only_lowers, operators)}
        assert found == {(Verdict.NOT_EXERCISED, REASON)}, asked


def test_what_speaks_of_lowering_alone_is_asked() -> None:
    cells = cells_of(CLAUSES["lowering.original-untouched"], dataclasses.replace(ANY_BACKEND, only_lowers=REASON))
    assert {cell.decided for cell in cells} == {None}


def test_everyday_models_are_asked_what_they_give_and_not_how_they_are_lowered() -> None:
    outputs, methods = (
        {cell.case for cell in cells_of(CLAUSES[asked], ANY_BACKEND)}
        for asked in ("lowering.outputs", "lowering.methods")
    )
    assert methods < outputs
    assert outputs - methods == {case.name for case in corpus("torchscript") if case.everyday}
