"""Every saboteur of this distribution, in the order of the contract."""

from __future__ import annotations

from conformance.saboteur import Saboteur
from torch_conformance_saboteurs import (
    dynamo_availability,
    dynamo_guards,
    dynamo_life_cycle,
    dynamo_modes,
    dynamo_operators,
    dynamo_results,
    dynamo_save_load,
    sabotage_age,
    sabotage_availability,
    sabotage_composition,
    sabotage_damage,
    sabotage_debug,
    sabotage_flaky,
    sabotage_inference,
    sabotage_life_cycle,
    sabotage_native,
    sabotage_numbers,
    sabotage_operators,
    sabotage_process,
    sabotage_refusal,
    sabotage_state,
    sabotage_trial,
)

SABOTEURS: tuple[Saboteur, ...] = (
    *sabotage_numbers.SABOTEURS,
    *sabotage_operators.SABOTEURS,
    *sabotage_state.SABOTEURS,
    *sabotage_life_cycle.SABOTEURS,
    *sabotage_composition.SABOTEURS,
    *sabotage_availability.SABOTEURS,
    *sabotage_refusal.SABOTEURS,
    *sabotage_damage.SABOTEURS,
    *sabotage_process.SABOTEURS,
    *sabotage_inference.SABOTEURS,
    *sabotage_debug.SABOTEURS,
    *sabotage_age.SABOTEURS,
    *sabotage_native.SABOTEURS,
    *sabotage_flaky.SABOTEURS,
    *sabotage_trial.SABOTEURS,
    *dynamo_results.SABOTEURS,
    *dynamo_life_cycle.SABOTEURS,
    *dynamo_guards.SABOTEURS,
    *dynamo_modes.SABOTEURS,
    *dynamo_availability.SABOTEURS,
    *dynamo_save_load.SABOTEURS,
    *dynamo_operators.SABOTEURS,
)
