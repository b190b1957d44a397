"""The pages of the contract: an overview, and one for each suite with every clause in full."""

from __future__ import annotations

import inspect
import textwrap

from conformance.contract import CONTRACT_VERSION, Clause, Level, SpeaksOf, shipped_clauses, suite_function
from conformance.contract.evidence import shipped_evidence
from reference.words import code, linked, prose, table


def pages() -> dict[str, str]:
    """The overview, and a page for each suite."""
    clauses = shipped_clauses()
    suites = {each.suite: [clause for clause in clauses if clause.suite == each.suite] for each in clauses}
    return {
        "contract/index.md": _overview(suites),
        **{f"contract/{suite}.md": _suite_page(suite, members) for suite, members in suites.items()},
    }


def _overview(suites: dict[str, list[Clause]]) -> str:
    evidence = shipped_evidence()
    count = sum(len(members) for members in suites.values())
    stale = "" if evidence.is_current else " (of another version of the contract)"
    graded = {each.level for members in suites.values() for each in members} - {Level.REPORTED}
    levels = [f"**{level.value}**" for level in Level if level in graded]
    parts = [
        "# The contract",
        f"Version {CONTRACT_VERSION}: {count} clauses in {len(suites)} suites. Each is one function of `suites/`, "
        "whose docstring is the statement. Its *proofs* are saboteurs, backends that are broken on purpose in one way, "
        f"which the clause caught in the self-test{stale} with torch {evidence.torch}.",
        f"A certificate claims a level, of which each includes those before it: {', '.join(levels)}. Clauses of the "
        "level *reported* are not graded.",
    ]
    for suite, members in suites.items():
        rows = [
            (f"[{each.id}](#{_anchor(each)})", each.level.value, str(len(evidence.of(each.id))), prose(each.statement))
            for each in members
        ]
        parts.append(f"## {suite}\n\n{table(('clause', 'level', 'proofs', 'statement'), rows)}")
    listing = "\n".join(suites)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{listing}\n```\n")
    return "\n\n".join(parts)


def _suite_page(suite: str, clauses: list[Clause]) -> str:
    module = inspect.getmodule(suite_function(clauses[0])[0])
    parts = [f"# {suite}", prose(inspect.getdoc(module) or ""), *(_clause(each) for each in clauses)]
    return "\n\n".join(parts) + "\n"


def _clause(clause: Clause) -> str:
    kills = shipped_evidence().of(clause.id)
    facts = [
        ("level", clause.level.value),
        *(("rests on", prose(each.says)) for each in clause.promises),
        ("source", linked(clause.source)),
        (
            "themes" if clause.speaks_of is SpeaksOf.GENERATED else "cases",
            ", ".join(code(each) for each in clause.cases) or "every case of the corpus",
        ),
        ("runtimes", ", ".join(clause.runtimes)),
        ("states of the host", ", ".join(state.value for state in clause.hosts)),
        ("states of the target", ", ".join(state.value for state in clause.targets) or "the host alone takes part"),
        ("control", clause.control.value),
        ("function", code(f"suites/{clause.toolchain}/test_{clause.suite}.py::{clause.function}")),
    ]
    proofs = [(code(kill.saboteur), prose(kill.what), f"{kill.verdict} in {kill.phase}") for kill in kills]
    source = textwrap.dedent(inspect.getsource(suite_function(clause)[0])).rstrip()
    proven = table(("saboteur", "what it does", "caught by"), proofs) if proofs else "By no saboteur yet.\n"
    return "\n".join(
        [
            f"({_anchor(clause)})=",
            f"## {clause.id}\n",
            f"{prose(clause.statement)}\n",
            "".join(f":{name}: {value}\n" for name, value in facts),
            f"**Proven by {len(kills)} saboteur{'s' * (len(kills) != 1)}**\n",
            proven,
            "<details><summary>The function that states it</summary>\n",
            f"```python\n{source}\n```\n",
            "</details>\n",
        ]
    )


def _anchor(clause: Clause) -> str:
    return clause.id.replace(".", "-")
