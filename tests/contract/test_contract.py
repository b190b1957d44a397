"""The contract as a whole."""

from __future__ import annotations

import re

from conformance.contract import shipped_clauses


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
    sources = r"pytorch/(pytorch|executorch)#\d|https://|the features that the backend's author declares|a flag"
    assert all(re.search(sources, each.source) for each in clauses)
