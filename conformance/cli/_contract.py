"""The contract itself: ``list``, ``clauses`` and ``explain``."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import shutil
import textwrap
from typing import Any

from conformance.cli._common import Commands, refuse, say
from conformance.contract import (
    CONTRACT_VERSION,
    Clause,
    SpeaksOf,
    contract_digest,
    shipped_clauses,
    suite_function,
)
from conformance.contract.evidence import Evidence, shipped_evidence
from conformance.toolchains import toolchains

#: What ``--format json`` prints; fields may be added within format 1.
_FORMAT = "torch-conformance-clauses/1"


def add(commands: Commands) -> None:
    """``list``, ``clauses`` and ``explain``."""
    listing = commands.add_parser("list", help="the backends that are installed (as pytest --list-backends)")
    listing.set_defaults(run=_list)
    clauses = commands.add_parser("clauses", help="the clauses of the contract, and how many saboteurs prove each")
    clauses.add_argument("--suite", help="only those of one suite")
    clauses.add_argument(
        "--toolchain", choices=sorted(each.name for each in toolchains()), help="only those of one toolchain"
    )
    clauses.set_defaults(run=_list_clauses)
    explain = commands.add_parser("explain", help="one clause in full, with the saboteurs that prove it")
    explain.add_argument("clause", metavar="CLAUSE", help="its id, such as lowering.outputs")
    explain.add_argument("--source", action="store_true", help="also the function that states it")
    explain.set_defaults(run=_explain)
    for parser in (clauses, explain):
        parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def _list(options: argparse.Namespace) -> int:
    import pytest

    return int(pytest.main(["--list-backends"]))


def _list_clauses(options: argparse.Namespace) -> int:
    suite: str | None = options.suite
    clauses = [each for each in shipped_clauses() if options.toolchain in (None, each.toolchain)]
    suites = list(dict.fromkeys(each.suite for each in clauses))
    if suite is not None and suite not in suites:
        return refuse(f"there is no suite {suite!r}; the suites are {', '.join(suites)}")
    chosen = [each for each in clauses if suite in (None, each.suite)]
    if options.format == "json":
        return _print_json({"clauses": [clause_document(each) for each in chosen]})
    say(_table(chosen, shutil.get_terminal_size().columns))
    return 0


def _table(clauses: list[Clause], width: int) -> str:
    from tabulate import tabulate

    evidence = shipped_evidence()
    rows = [(each.id, each.level.value, len(evidence.of(each.id)), _statement(each)) for each in clauses]
    taken = max(len(row[0]) for row in rows) + len("reported") + len("proofs") + 3 * len("  ")
    body = [(*facts, textwrap.fill(text, max(20, width - taken - len("  ")))) for *facts, text in rows]
    return tabulate(body, headers=["clause", "level", "proofs", "statement"], tablefmt="simple")


def _explain(options: argparse.Namespace) -> int:
    clause_id: str = options.clause
    known = {each.id: each for each in shipped_clauses()}
    if clause_id not in known:
        import difflib

        close = difflib.get_close_matches(clause_id, known, n=3)
        hint = f" Close to it: {', '.join(close)}." if close else ""
        return refuse(f"there is no clause {clause_id!r}.{hint} `conformance clauses` lists all {len(known)}.")
    clause = known[clause_id]
    code = inspect.getsource(suite_function(clause)[0]) if options.source else ""
    if options.format == "json":
        return _print_json({"clauses": [clause_document(clause) | ({"code": code} if code else {})]})
    width = shutil.get_terminal_size().columns
    say(clause.id)
    say(textwrap.fill(_statement(clause), width, initial_indent="  ", subsequent_indent="  "))
    for name, value in facts_of(clause).items():
        say(textwrap.fill(f"{name}: {value}", width, initial_indent="  ", subsequent_indent="    "))
    say(_proofs_text(clause, shipped_evidence(), width))
    if code:
        say(f"\n{code.rstrip()}")
    return 0


def _proofs_text(clause: Clause, evidence: Evidence, width: int) -> str:
    kills = evidence.of(clause.id)
    count = f"{len(kills)} saboteur{'s' * (len(kills) != 1)}"
    stale = "" if evidence.is_current else ", when the contract was another one (`conformance selftest` tries this one)"
    lines = [f"proven by {count} of the self-test (torch {evidence.torch}){stale}{':' if kills else ''}"]
    lines += [f"  {kill.saboteur}: {kill.what} {kill.verdict} in {kill.phase}" for kill in kills]
    return "\n".join(
        textwrap.fill(line.strip(), width, initial_indent=indent, subsequent_indent=f"{indent}  ")
        for line in lines
        for indent in ("    " if line.startswith(" ") else "  ",)
    )


def facts_of(clause: Clause) -> dict[str, str]:
    """What there is to know of a clause beside its statement, in words."""
    return {
        "level": clause.level.value,
        "source": clause.source,
        **({"rests on": " ".join(each.says for each in clause.promises)} if clause.promises else {}),
        "suite": clause.suite,
        "toolchain": clause.toolchain,
        ("themes" if clause.speaks_of is SpeaksOf.GENERATED else "cases"): ", ".join(clause.cases)
        or "every case of the corpus",
        "runtimes": ", ".join(clause.runtimes),
        "host states": ", ".join(state.value for state in clause.hosts),
        "target states": ", ".join(state.value for state in clause.targets) or "the host alone",
        "needs": ", ".join(sorted(feature.name for feature in clause.needs)) or "nothing but what each case needs",
        "control": clause.control.value,
    }


def clause_document(clause: Clause) -> dict[str, Any]:
    """A clause in builtin types, with the saboteurs that prove it."""
    return {
        "id": clause.id,
        "statement": _statement(clause),
        "source": clause.source,
        "promises": [dataclasses.asdict(each) for each in clause.promises],
        "level": clause.level.value,
        "toolchain": clause.toolchain,
        "suite": clause.suite,
        "function": clause.function,
        "cases": list(clause.cases),
        "runtimes": list(clause.runtimes),
        "hosts": [state.value for state in clause.hosts],
        "targets": [state.value for state in clause.targets],
        "control": clause.control.value,
        "speaks_of": clause.speaks_of.value,
        "saboteurs": [
            {"name": kill.saboteur, "sabotage": kill.what, "verdict": kill.verdict, "phase": kill.phase}
            for kill in shipped_evidence().of(clause.id)
        ],
    }


def _print_json(document: dict[str, Any]) -> int:
    contract = {"version": CONTRACT_VERSION, "sha256": contract_digest()}
    say(json.dumps({"format": _FORMAT, "contract": contract} | document, indent=1, ensure_ascii=False))
    return 0


def _statement(clause: Clause) -> str:
    return " ".join(clause.statement.split())
