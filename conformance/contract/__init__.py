"""The contract: its clauses, the saboteurs that prove them, and the score of the last self-test."""

from __future__ import annotations

from conformance.api.availability import Availability
from conformance.api.clause import Clause, Control, Level, SpeaksOf, clause, clauses
from conformance.contract.table import (
    CONTRACT_VERSION,
    clause_of,
    contract_clauses,
    contract_digest,
    installed_clauses,
    levels_of,
    shipped_clauses,
    suite_folders,
    suite_function,
    suites_path,
)

__all__ = [
    "CONTRACT_VERSION",
    "Availability",
    "Clause",
    "Control",
    "Level",
    "SpeaksOf",
    "clause",
    "clause_of",
    "clauses",
    "contract_clauses",
    "contract_digest",
    "installed_clauses",
    "levels_of",
    "shipped_clauses",
    "suite_folders",
    "suite_function",
    "suites_path",
]
