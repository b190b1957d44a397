"""What a run teaches about a file of expectations: which entries to add, remove and change, and what to leave."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.expectations._cover import cover
from conformance.expectations._entry import UNEXPLAINED, Expectation, ending_text
from conformance.expectations._judge import BackendRun, Expectations

Fields = dict[str, Any]

#: How much of a message goes into a reason.
_REASON_LENGTH = 140
#: What says where an entry holds, and how the failure looks: all that an update writes of an entry that was there.
WHERE = ("case", "runtime", "host", "target")
ENDING = ("verdict", "phase", "fingerprint")


@dataclasses.dataclass(frozen=True)
class Update:
    """What to do with a file. ``replaced`` maps the number of an entry to the fields of those that take its place, in
    WHERE and ENDING; none removes it. ``said`` tells all of it, a line each."""

    replaced: Mapping[int, Sequence[Fields]]
    added: Sequence[Fields]
    said: Sequence[str]


class _State(enum.Enum):
    FAILS = enum.auto()
    PASSES = enum.auto()
    #: It was not tried, for a reason that lies in the backend or in PyTorch.
    IDLE = enum.auto()
    #: It did not run, could not be tried here, never came back, or failed in a way that did not repeat.
    UNKNOWN = enum.auto()


@dataclasses.dataclass(frozen=True)
class _Seen:
    """A cell of the run, and what it came to before expectations were held against it."""

    cell: Mapping[str, Any]
    state: _State
    ending: tuple[str, str, str] = ("", "", "")
    message: str = ""


def learn(expectations: Expectations, plan: BackendRun, today: datetime.date) -> Update:
    """What the run of one backend teaches.

    A failure counts if it repeated. An entry is left as it is while any of its cells did not run or was flaky, when
    it does not hold for the installed versions, when it says FLAKY, and when no clause of the run is its own.
    """
    seen = [_seen(cell, plan.rows.get(cell["id"])) for cell in plan.cells]
    owner = {each.cell["id"]: expectations.entry_for(each.cell, plan.backend) for each in seen}
    clauses: dict[str, list[_Seen]] = {}
    for each in seen:
        clauses.setdefault(each.cell["clause"], []).append(each)
    replaced: dict[int, list[Fields]] = {}
    said: list[str] = []
    for entry in expectations.entries:
        if not expectations.holds_for(entry, plan.backend) or entry.clause not in clauses:
            continue
        own = [each for each in clauses[entry.clause] if owner[each.cell["id"]] is entry]
        _reconsider(entry, own, clauses[entry.clause], plan, replaced, said)
    added = []
    for rows in clauses.values():
        new = [each for each in rows if each.state is _State.FAILS and owner[each.cell["id"]] is None]
        for group in _alike(new, ENDING):
            for where in _where(group, rows):
                added.append(_new_entry(group, where, today))
                said.append(f"added: {_place(added[-1])}: {ending_text(*group[0].ending)}")
    said += [
        f"not recorded, since what is drawn depends on seed and budget: {row['id']}: an entry for it is yours to write"
        for row in plan.rows.values()
        if "generated" in row and not row.get("repeated") and Verdict(row["verdict"]).is_breach
    ]
    said += [
        f"not recorded, since it is flaky: {row['id']}: {row['message']}"
        for row in plan.rows.values()
        if row["verdict"] == Verdict.FLAKY.value
    ]
    return Update(replaced, added, said)


def _reconsider(
    entry: Expectation,
    own: Sequence[_Seen],
    clause: Sequence[_Seen],
    plan: BackendRun,
    replaced: dict[int, list[Fields]],
    said: list[str],
) -> None:
    if entry.verdict == Verdict.FLAKY.value:
        return
    if not own:
        if not any(entry.covers(each.cell) for each in clause):
            replaced[entry.number] = []
            said.append(f"removed: {entry}: there is no such cell")
        return
    failing = [each for each in own if each.state is _State.FAILS]
    unknown = [each for each in own if each.state is _State.UNKNOWN]
    passing = [each for each in own if each.state is _State.PASSES]
    holds = all(entry.agrees(_as_row(each)) for each in failing)
    if failing and holds and not passing:
        return
    if unknown:
        if failing or passing:
            count = len(unknown)
            said.append(f"left as it is: {entry}: {count} of its {len(own)} cells did not run, or were flaky")
        return
    if not failing:
        replaced[entry.number] = []
        said.append(f"removed: {entry}: {'it passed' if passing else 'its cells are not tried any more'}")
        return
    recorded = [name for name in ENDING if name == "verdict" or getattr(entry, name)]
    groups = _alike(failing, recorded)
    if len(groups) == 1 and not passing:
        wheres: list[tuple[list[_Seen], Fields]] = [(groups[0], {name: getattr(entry, name) for name in WHERE})]
    else:
        wheres = [(group, where) for group in groups for where in _where(group, clause)]
    replaced[entry.number] = [where | _ending(group[0], recorded) for group, where in wheres]
    now = "; ".join(
        f"{_place({'clause': entry.clause, **where})}: {ending_text(*_kept(group[0], recorded))}"
        for group, where in wheres
    )
    said.append(f"changed: {entry}: now {now}{f'; {len(passing)} cells passed' if passing else ''}")


def _seen(cell: Mapping[str, Any], row: Mapping[str, Any] | None) -> _Seen:
    if row is None:
        return _Seen(cell, _State.UNKNOWN)
    judged = row.get("expectation", {})
    verdict = Verdict(judged.get("found", row["verdict"]))
    if verdict.is_breach and row.get("repeated"):
        ending = (verdict.value, row["phase"], row["fingerprint"])
        return _Seen(cell, _State.FAILS, ending, judged.get("message", row["message"]))
    if verdict is Verdict.PASS:
        return _Seen(cell, _State.PASSES)
    if verdict in (Verdict.UNSUPPORTED, Verdict.NOT_APPLICABLE):
        return _Seen(cell, _State.IDLE)
    return _Seen(cell, _State.UNKNOWN)


def _as_row(seen: _Seen) -> Fields:
    return dict(zip(ENDING, seen.ending, strict=True))


def _kept(seen: _Seen, recorded: Sequence[str]) -> tuple[str, str, str]:
    verdict, phase, fingerprint = (value if name in recorded else "" for name, value in _as_row(seen).items())
    return verdict, phase, fingerprint


def _ending(seen: _Seen, recorded: Sequence[str]) -> Fields:
    return {name: value for name, value in _as_row(seen).items() if name in recorded}


def _alike(failures: Iterable[_Seen], recorded: Sequence[str]) -> list[list[_Seen]]:
    """The failures in groups that are the same in what an entry records of them."""
    groups: dict[tuple[str, ...], list[_Seen]] = {}
    for each in failures:
        groups.setdefault(_kept(each, recorded), []).append(each)
    return list(groups.values())


def _where(group: Sequence[_Seen], clause: Sequence[_Seen]) -> list[Fields]:
    """The entries that cover a group, and no other cell of the clause but such as are not tried at all."""
    ids = {each.cell["id"] for each in group}
    others = [each.cell for each in clause if each.cell["id"] not in ids and each.state is not _State.IDLE]
    return cover([each.cell for each in group], others)


def _new_entry(group: Sequence[_Seen], where: Fields, today: datetime.date) -> Fields:
    verdict, phase, fingerprint = group[0].ending
    gist = textwrap.shorten(group[0].message, _REASON_LENGTH, placeholder=" ...")
    outcome = {"verdict": verdict, "phase": phase, "fingerprint": fingerprint}
    return {
        "clause": group[0].cell["clause"],
        **where,
        **{name: value for name, value in outcome.items() if value},
        "reason": f"{UNEXPLAINED} {gist}".strip(),
        "since": today,
    }


def _place(fields: Fields) -> str:
    named = {name: value for name, value in fields.items() if name in ("clause", *WHERE) and value}
    return Expectation(verdict="", reason="", **named).place
