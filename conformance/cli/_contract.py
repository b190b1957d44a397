"""The contract itself: ``list``, ``clauses`` and ``explain``."""

from __future__ import annotations

import argparse
import shutil
import textwrap

from conformance.cli._common import Commands, refuse
from conformance.contract import ORDINARY_RUNTIME, Clause, shipped_clauses


def add(commands: Commands) -> None:
    """``list``, ``clauses`` and ``explain``."""
    listing = commands.add_parser("list", help="the backends that can be certified here (as pytest --list-backends)")
    listing.set_defaults(run=_list)
    clauses = commands.add_parser("clauses", help="the clauses of the contract, one a line")
    clauses.add_argument("--suite", help="only those of one suite")
    clauses.add_argument("--toolchain", choices=sorted(ORDINARY_RUNTIME), help="only those of one toolchain")
    clauses.set_defaults(run=_list_clauses)
    explain = commands.add_parser("explain", help="one clause in full")
    explain.add_argument("clause", help="its id, such as lowering.outputs")
    explain.set_defaults(run=_explain)


def _list(options: argparse.Namespace) -> int:
    import pytest

    return int(pytest.main(["--list-backends"]))


def _list_clauses(options: argparse.Namespace) -> int:
    suite: str | None = options.suite
    from tabulate import tabulate

    clauses = [each for each in shipped_clauses() if options.toolchain in (None, each.toolchain)]
    suites = list(dict.fromkeys(each.suite for each in clauses))
    if suite is not None and suite not in suites:
        return refuse(f"there is no suite {suite!r}; the suites are {', '.join(suites)}")
    rows = [
        (each.id, each.toolchain, each.level.value, _statement(each)) for each in clauses if suite in (None, each.suite)
    ]
    taken = max(len(row[0]) for row in rows) + 11 + 10 + 6
    width = max(30, shutil.get_terminal_size().columns - taken)
    body = [(*head, textwrap.fill(text, width)) for *head, text in rows]
    print(tabulate(body, headers=["clause", "toolchain", "level", "statement"], tablefmt="simple"))
    return 0


def _explain(options: argparse.Namespace) -> int:
    clause_id: str = options.clause
    known = {each.id: each for each in shipped_clauses()}
    if clause_id not in known:
        import difflib

        close = difflib.get_close_matches(clause_id, known, n=3)
        hint = f" Close to it: {', '.join(close)}." if close else ""
        return refuse(f"there is no clause {clause_id!r}.{hint} `conformance clauses` lists all {len(known)}.")
    clause = known[clause_id]
    width = shutil.get_terminal_size().columns
    print(clause.id)
    print(textwrap.fill(" ".join(clause.statement.split()), width, initial_indent="  ", subsequent_indent="  "))
    facts = {
        "level": clause.level.value,
        "source": clause.source,
        "suite": clause.suite,
        "toolchain": clause.toolchain,
        "cases": ", ".join(clause.cases) or "every case of the corpus",
        "runtimes": ", ".join(clause.runtimes),
        "host states": ", ".join(state.value for state in clause.hosts),
        "target states": ", ".join(state.value for state in clause.targets) or "the host alone",
        "needs": ", ".join(sorted(feature.name for feature in clause.needs)) or "nothing but what each case needs",
        "control": clause.control.value,
    }
    for name, value in facts.items():
        print(textwrap.fill(f"{name}: {value}", width, initial_indent="  ", subsequent_indent="    "))
    return 0


def _statement(clause: Clause) -> str:
    return " ".join(clause.statement.split())
