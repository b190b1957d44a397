"""Mutants of ExecuTorch delegates: drawn from what this toolchain has, and seen by a probe where they are wrong."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conformance.selftest import mutant_trials
from conformance.toolchains import toolchain_named

HAS_DELEGATES = importlib.util.find_spec("torch_conformance_saboteurs_executorch") is not None
LACKING = toolchain_named("executorch").lacking() or ("" if HAS_DELEGATES else "its plugins: see .ci/executorch")
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)

ACTIVE: list[dict[str, Any]] = [
    {"place": "operator", "when": {"operator": "binary"}, "effect": "off a little"},
    {"place": "operator", "when": {"operator": "argmax", "values": "ties"}, "effect": "last of ties"},
    {"place": "operator", "when": {"earlier": "another shape"}, "effect": "last element"},
    {"place": "operator", "when": {"operator": "view"}, "effect": "one element"},
    {"place": "call", "when": {"earlier": "a failed call"}, "effect": "error swallowed"},
    {"place": "call", "when": {"thread": "another"}, "effect": "former returned"},
    {"place": "lowering", "when": {"operator": "pow"}, "effect": "constant off"},
    {"place": "lowering", "when": {"mode": "no_grad"}, "effect": "grad mode left"},
    {"place": "load", "when": {"origin": "loaded"}, "effect": "weights rounded"},
    {"place": "load", "when": {"origin": "copied"}, "effect": "error"},
    {"place": "release", "when": {"models": "second lowered"}, "effect": "crash"},
]


def test_what_is_drawn_makes_sense() -> None:
    from torch_conformance_saboteurs.mutants.grammar import makes_sense
    from torch_conformance_saboteurs_executorch.mutants.kinds import EXECUTORCH, MUTANTS

    random = Random(4)
    specs = [MUTANTS[0].draw(random) for _ in range(400)]
    assert specs == json.loads(json.dumps(specs))
    assert len({json.dumps(spec, sort_keys=True) for spec in specs}) > 350
    assert len({spec["effect"] for spec in specs}) > 20
    for spec in specs:
        assert makes_sense(spec, EXECUTORCH), spec
        assert spec["effect"] in EXECUTORCH.effects_at(spec["place"])
        assert spec["place"] == "lowering" or "mode" not in spec["when"]


@pytest.mark.parametrize("spec", ACTIVE, ids=lambda spec: f"{spec['place']} {spec['effect']}")
def test_a_probe_sees_who_does_wrong(spec: dict[str, Any], trial: Any, tmp_path: Path) -> None:
    row = mutant_trials._probed(trial({"toolchain": "executorch", **spec}), tmp_path)
    assert row["active"], row
    assert row["fired"]


def test_a_mutant_that_does_nothing_is_seen_by_no_witness(trial: Any, tmp_path: Path) -> None:
    from torch_conformance_saboteurs_executorch.mutants.kinds import MUTANTS

    random = Random(8)
    # Arguments may have their channels last.
    laid_out = {
        "toolchain": "executorch",
        "place": "operator",
        "when": {"operator": "conv2d", "layout": "channels_last"},
    }
    for number, drawn in enumerate([laid_out, *(MUTANTS[0].draw(random) for _ in range(20))]):
        spec = {**drawn, "effect": "nothing"}
        _, differences = mutant_trials._played(trial(spec), 0, tmp_path / str(number))
        assert differences == [], spec


@pytest.mark.slow
def test_a_mutant_that_does_nothing_is_killed_by_no_generated_clause(trial: Any, tmp_path: Path) -> None:
    idle = trial({"toolchain": "executorch", "place": "operator", "when": {}, "effect": "nothing"}, 20)
    errors: list[str] = []
    cells = mutant_trials._generated(idle.description, idle)
    assert mutant_trials._killed(idle, tmp_path / "firings", cells, errors) is None
    assert not errors  # nor an alarm that would have been false


@pytest.mark.parametrize(
    "spec",
    [
        {"place": "call", "when": {"call": "first"}, "effect": "off a little"},
        {"place": "load", "when": {"origin": "loaded"}, "effect": "directory left"},
    ],
    ids=lambda spec: spec["place"],
)
def test_one_that_is_wrong_everywhere_is_killed(spec: dict[str, Any], trial: Any) -> None:
    spec = {"toolchain": "executorch", **spec}
    row = mutant_trials.try_mutant(trial(spec, 5))
    assert row["kill"]["clause"] == "delegate.generated.programs"
    assert not row["errors"]
