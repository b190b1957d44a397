"""Every saboteur of this distribution, in the order of the contract."""

from __future__ import annotations

from conformance.saboteur import Saboteur
from torch_conformance_saboteurs import (
    dynamo_guards,
    dynamo_life_cycle,
    dynamo_results,
    sabotage_availability,
    sabotage_composition,
    sabotage_damage,
    sabotage_life_cycle,
    sabotage_numbers,
    sabotage_process,
    sabotage_refusal,
    sabotage_state,
    sabotage_trial,
)

SABOTEURS: tuple[Saboteur, ...] = (
    *sabotage_numbers.SABOTEURS,
    *sabotage_state.SABOTEURS,
    *sabotage_life_cycle.SABOTEURS,
    *sabotage_composition.SABOTEURS,
    *sabotage_availability.SABOTEURS,
    *sabotage_refusal.SABOTEURS,
    *sabotage_damage.SABOTEURS,
    *sabotage_process.SABOTEURS,
    *sabotage_trial.SABOTEURS,
    *dynamo_results.SABOTEURS,
    *dynamo_life_cycle.SABOTEURS,
    *dynamo_guards.SABOTEURS,
)
