"""What a report consists of, as types. ``schema.json`` is generated from them: see :mod:`conformance.report.schema`.

A field that a report may lack is UNSET where it does, which is false. The descriptions are those of the schema and of
the reference.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from conformance.api.verdicts import Verdict
from conformance.contract import Level
from conformance.report.parts import ClosedPart, Part
from conformance.report.row_model import (
    Amount,
    AxisTable,
    CellRow,
    ClauseRow,
    Count,
    CountFromOne,
    HostBehaviour,
    Number,
    OperatorTable,
    TargetBehaviour,
)

FORMAT = "torch-conformance-report/1"

_GRADED = [level.value for level in Level if level is not Level.REPORTED]

Sha256 = Annotated[
    str, Meta(title="sha256", description="a digest, in hexadecimal", pattern="^[0-9a-f]{64}$", max_length=64)
]
VerdictCounts = Annotated[
    dict[Verdict, Count], Meta(extra_json_schema={"propertyNames": {"enum": [each.value for each in Verdict]}})
]


class EarlierRun(ClosedPart, frozen=True, kw_only=True):
    """A run that was interrupted."""

    id: Annotated[str, Meta(description="the UUID of that run")]
    started: Annotated[str, Meta(description="ISO 8601, UTC")]
    argv: Annotated[list[str], Meta(description="its options, without paths")]


class Resumed(ClosedPart, frozen=True, kw_only=True):
    """What a run was spared by those that it went on with."""

    cells: Annotated[Count, Meta(description="how many of the cells are theirs")]
    runs: Annotated[list[EarlierRun], Meta(description="the runs that were interrupted, the first of them first")]


class Shard(ClosedPart, frozen=True, kw_only=True):
    """One of the runs that a merged report was joined from."""

    id: Annotated[str, Meta(description="the UUID of that run")]
    started: Annotated[str, Meta(description="ISO 8601, UTC")]
    seconds: Annotated[Amount, Meta(description="how long it took, by the wall clock")]
    argv: Annotated[list[str], Meta(description="its options, without paths")]
    resumed: (
        Annotated[Resumed, Meta(description="where it went on with an interrupted run: what it has of that")]
        | UnsetType
    ) = UNSET


class Run(Part, frozen=True, kw_only=True):
    """A run."""

    id: Annotated[str, Meta(description="a UUID, new for each run")]
    started: Annotated[str, Meta(description="ISO 8601, UTC")]
    seconds: Annotated[Amount, Meta(description="how long it took, by the wall clock")]
    seed: Annotated[int, Meta(description="the seed of weights, of inputs, and of what is generated")]
    generated: (
        Annotated[
            str,
            Meta(
                description="what generated cells might try: a number of programs for each, a time in seconds such as "
                "30s for all of them together, or 0 for nothing; a run without it had none",
                pattern=r"^([0-9]{1,9}|[0-9]{1,8}([.][0-9]{1,17})?s)$",
            ),
        ]
        | UnsetType
    ) = UNSET
    budget: (
        Annotated[
            str,
            Meta(
                description="the time of the run, such as 30m, after which no cell was begun; a run without it had no "
                "end",
                pattern=r"^[0-9]{1,8}([.][0-9]{1,17})?[smh]$",
            ),
        ]
        | UnsetType
    ) = UNSET
    argv: Annotated[list[str], Meta(description="the options of the run, without paths")]
    shards: (
        Annotated[list[Shard], Meta(description="of a merged report: the runs that it was joined from")] | UnsetType
    ) = UNSET
    resumed: (
        Annotated[Resumed, Meta(description="of a run that went on with an interrupted one: what it has of that")]
        | UnsetType
    ) = UNSET
    complete: Annotated[bool, Meta(description="whether every planned cell came back, and none was left out")]


class SelfTest(ClosedPart, frozen=True, kw_only=True):
    """The score of a self-test."""

    caught: Annotated[Count, Meta(description="saboteurs that were caught by every clause that must")]
    saboteurs: Annotated[Count, Meta(description="saboteurs that were tried")]
    succeeded: Annotated[
        bool, Meta(description="whether all were caught, every clause is proven, and the controls passed")
    ]


class MutantScore(ClosedPart, frozen=True, kw_only=True):
    """How many broken backends that nobody wrote the contract catches, as the release of the harness found."""

    killed: Annotated[Count, Meta(description="active mutants that some cell caught")]
    active: Annotated[Count, Meta(description="mutants that a probe which has nothing of the contract saw at fault")]
    drawn: Annotated[Count, Meta(description="mutants that were drawn at random")]
    low: Annotated[float, Meta(description="the lower bound of the share that is killed, in per cent")]
    high: Annotated[float, Meta(description="the upper bound, with a confidence of 95 %")]
    current: Annotated[bool, Meta(description="whether they were held against this contract, and not a former one")]


class Contract(Part, frozen=True, kw_only=True):
    """A version of the contract."""

    version: Annotated[str, Meta(description="the version of the contract")]
    sha256: Annotated[
        Sha256, Meta(description="over ids, statements and levels: reports with one digest agree on the clauses")
    ]


class Harness(Part, frozen=True, kw_only=True):
    """The harness, and what is known of it."""

    version: Annotated[str, Meta(description="the version of torch-conformance")]
    contract: Annotated[Contract, Meta(description="the clauses that it judged by")]
    selftest: (
        Annotated[
            SelfTest | None,
            Meta(
                description="the score of the last self-test of this harness, on this torch and platform; "
                "null if there was none"
            ),
        ]
        | UnsetType
    ) = UNSET
    mutants: (
        Annotated[MutantScore, Meta(description="the score of mutants that ships with the harness")] | UnsetType
    ) = UNSET


class Target(Part, frozen=True, kw_only=True):
    """Where artifacts ran. Its other fields are strings: what is known of the installation there."""

    spec: Annotated[
        str,
        Meta(
            description="local, native, or how another installation was reached (ssh, socket, popen, pack): "
            "never a host or a path"
        ),
    ]


class File(ClosedPart, frozen=True, kw_only=True):
    """A library."""

    name: Annotated[str, Meta(description="its name, without folders")]
    sha256: Annotated[Sha256, Meta(description="the digest of its content")]


class Features(ClosedPart, frozen=True, kw_only=True):
    """The features that an author says something of."""

    missing: Annotated[dict[str, str], Meta(description="feature → why it is missing")]


class Backend(Part, frozen=True, kw_only=True):
    """A backend, as far as a report describes it."""

    name: Annotated[str, Meta(description="the name by which PyTorch knows it")]
    toolchain: Annotated[str, Meta(description="the PyTorch stack that it plugs into")]
    entry_point: (
        Annotated[
            str,
            Meta(
                description="what --backend takes to choose it, after TOOLCHAIN: where several backends have the name"
            ),
        ]
        | UnsetType
    ) = UNSET
    distribution: Annotated[str, Meta(description="the distribution that brings it; empty for a bare library")]
    version: Annotated[str, Meta(description="the version of that distribution")]
    distribution_hash: (
        Annotated[
            Sha256 | None,
            Meta(
                description="over the installed files of the distribution, as dirHash of in-toto; "
                "null where it has none"
            ),
        ]
        | UnsetType
    ) = UNSET
    options: Annotated[dict[str, Any], Meta(description="what torch.compile(options=...) was given")] | UnsetType = (
        UNSET
    )
    replaces_functions: (
        Annotated[
            bool,
            Meta(description="it is listed as a saboteur whose devices do not look for functions that it replaces"),
        ]
        | UnsetType
    ) = UNSET
    files: Annotated[list[File], Meta(description="the libraries that were loaded")]
    features: Annotated[Features, Meta(description="what its author declares")]
    tolerances: Annotated[
        dict[str, Annotated[list[Number], Meta(min_length=2, max_length=2)]],
        Meta(description="dtype → rtol and atol, where they deviate from the default"),
    ]
    states: Annotated[
        dict[str, bool], Meta(description="state of availability → whether the author gave a way to reach it")
    ]


class Plan(Part, frozen=True, kw_only=True):
    """How much was planned."""

    cells: Annotated[Count, Meta(description="how many were planned; as many stand in cells")]
    deselected: Annotated[
        Count, Meta(description="cells of the contract that -k, -m, --conformance-select or a path left out")
    ]
    sha256: Annotated[Sha256, Meta(description="over the ids of the planned cells")]


class BehaviourTables(ClosedPart, frozen=True, kw_only=True):
    """The behaviour tables of both roles."""

    host: Annotated[list[HostBehaviour], Meta(description="what happens on a host in each state")]
    target: Annotated[list[TargetBehaviour], Meta(description="what happens on a target in each state")]


class Summary(Part, frozen=True, kw_only=True):
    """How many cells came to what."""

    verdicts: Annotated[VerdictCounts, Meta(description="verdict → how many cells")]
    suites: Annotated[dict[str, VerdictCounts], Meta(description="suite → verdict → how many cells")]
    clauses: Annotated[dict[str, VerdictCounts], Meta(description="clause → verdict → how many cells")]


class GeneratedClause(Part, frozen=True, kw_only=True):
    """What the generated cells of a clause tried."""

    clause: Annotated[str, Meta(description="the clause")]
    cells: Annotated[CountFromOne, Meta(description="how many of its cells tried something")]
    tried: Annotated[Count, Meta(description="how many programs or scenarios judged the backend")]
    discarded: Annotated[dict[str, Count], Meta(description="why others judged nobody → how many")]
    refused: Annotated[dict[str, Count], Meta(description="what the backend refused as it may → how many had it")]
    seconds: Annotated[Amount, Meta(description="how long it took, added up")]
    findings: Annotated[Count, Meta(description="how many causes were found")]


class GeneratedFinding(Part, frozen=True, kw_only=True):
    """A cause, and the cells whose rows have a program that shows it."""

    cause: Annotated[str, Meta(description="operators / axes / observable")]
    observable: Annotated[str, Meta(description="what was otherwise than in eager PyTorch")]
    verdict: Verdict
    count: Annotated[Count, Meta(description="how many programs showed it, in all cells")]
    cells: Annotated[list[str], Meta(description="the cells")]


class GeneratedSummary(AxisTable, frozen=True, kw_only=True):
    """What the generated cells tried and found together. A value that was never met is among values, with 0."""

    axes: Annotated[
        dict[str, list[str]], Meta(description="axis → every value that the harness draws: each is among values")
    ]
    others: Annotated[
        dict[str, dict[str, Count]],
        Meta(description="another axis, such as operator → its values that were met → how often; they are not paired"),
    ]
    clauses: Annotated[list[GeneratedClause], Meta(description="what each clause tried")]
    findings: Annotated[list[GeneratedFinding], Meta(description="what was found, each cause once")]


class Shown(ClosedPart, frozen=True, kw_only=True):
    """How much of what a level takes was shown by PASS, and not left aside."""

    clauses: Annotated[Count, Meta(description="clauses that a cell showed by PASS")]
    of_clauses: Annotated[Count, Meta(description="clauses of the level")]
    cells: Annotated[Count, Meta(description="cells that came to PASS")]
    of_cells: Annotated[Count, Meta(description="cells of the level")]


class Certification(Part, frozen=True, kw_only=True):
    """Which level the cells of a run show."""

    level: Annotated[
        Level,
        Meta(
            description="the level that was asked for, or else the highest that the contract has clauses for",
            extra_json_schema={"enum": _GRADED},
        ),
    ]
    achieved: Annotated[
        Level | None,
        Meta(
            description="the highest level that was reached; null if none was",
            extra_json_schema={"enum": [*_GRADED, None]},
        ),
    ]
    missing: Annotated[list[str], Meta(description="what stands between the run and the level, a sentence each")]
    excused: Annotated[bool, Meta(description="whether known failures are all that does")]
    shown: (
        Annotated[
            Shown,
            Meta(
                description="how much of the level that was reached, or else of that which was asked for, was shown by "
                "PASS; former reports lack it"
            ),
        ]
        | UnsetType
    ) = UNSET


class Report(Part, frozen=True, kw_only=True):
    """The compatibility report of one backend."""

    format: Annotated[str, Meta(description="the format and its version", extra_json_schema={"const": FORMAT})]
    run: Annotated[Run, Meta(description="the run that was made, or that the shards were parts of")]
    harness: Annotated[Harness, Meta(description="what judged")]
    environment: Annotated[
        dict[str, str],
        Meta(
            description="names and versions of what the run stood on: python, torch, pytest, platform, and packages "
            "that the backend's distribution requires"
        ),
    ]
    target: (
        Annotated[
            Target,
            Meta(
                description="where artifacts were loaded and run; a report without it is of a local target",
                extra_json_schema={"additionalProperties": {"type": "string"}},
            ),
        ]
        | UnsetType
    ) = UNSET
    backend: Annotated[Backend, Meta(description="what was judged")]
    plan: Annotated[Plan, Meta(description="which cells there were to try")]
    clauses: Annotated[list[ClauseRow], Meta(description="the clauses of the planned cells")]
    cells: Annotated[list[CellRow], Meta(description="everything that was tried, in the order of the plan")]
    availability: Annotated[
        BehaviourTables,
        Meta(description="the behaviour in each state of availability: expected beside observed"),
    ]
    summary: Annotated[Summary, Meta(description="the cells, counted")]
    generated: (
        Annotated[GeneratedSummary, Meta(description="what generated cells tried, where there were any")] | UnsetType
    ) = UNSET
    certification: Annotated[Certification, Meta(description="what the run shows")]
    operators: (
        Annotated[
            OperatorTable,
            Meta(
                description="the operator table, where the run was asked for it: PyTorch's operators on OpInfo "
                "samples; reported, never graded"
            ),
        ]
        | UnsetType
    ) = UNSET
