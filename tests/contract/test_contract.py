"""The contract as a whole."""

from __future__ import annotations

import dataclasses
import re

import pytest

from conformance.api.availability import Availability
from conformance.contract import Level, contract_digest, shipped_clauses, table


def test_the_contract_is_whole() -> None:
    clauses = shipped_clauses()
    ids = [each.id for each in clauses]
    assert len(set(ids)) == len(ids)
    floor = """
        lowering.methods lowering.outputs lowering.original-untouched lowering.inputs-untouched lowering.output-types
        lowering.spec-intact lowering.bad-spec lowering.unregistered lowering.registered-once lowering.refusal
        lowering.twice lowering.preprocess-once lowering.deterministic lowering.weights lowering.delegated
        composition.nested composition.selective composition.several composition.deepcopy
        save-load.same-outputs save-load.spec save-load.again save-load.attributes save-load.extra-files
        save-load.unknown-backend save-load.damaged save-load.older save-load.no-host-paths
        lite.same-outputs lite.types lite.unknown-backend lite.damaged lite.again lite.operators lite.composition
        availability.lost availability.regained availability.stable
        bundled.after-lowering bundled.runs bundled.methods bundled.info bundled.inflatable bundled.unavailable
        bundled.before-lowering
    """
    assert set(floor.split()) <= set(ids)
    authors = "the features that the backend's author declares|the golden sets that|the documentation of conformance"
    sources = rf"pytorch/(pytorch|executorch)#\d|https://|{authors}|a flag"
    assert [each.id for each in clauses if not re.search(sources, each.source)] == []


@pytest.mark.parametrize(
    "other",
    [
        {"id": "lowering.other"},
        {"statement": "Something else."},
        {"level": Level.REPORTED},
        {"cases": ("add", "other")},
        {"runtimes": ("other",)},
        {"hosts": (Availability.NONE,)},
        {"targets": ()},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_digest_takes_in_what_is_stated_and_what_it_is_tried_on(
    other: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    clauses = shipped_clauses()
    changed = next(each for each in clauses if each.id == "lite.same-outputs")
    before = contract_digest()
    instead = dataclasses.replace(changed, **other)  # type: ignore[arg-type]
    monkeypatch.setattr(table, "shipped_clauses", lambda: [instead if each is changed else each for each in clauses])
    assert contract_digest() != before
