"""The rows of a report as types: of its clauses, its cells and what these generated, the behaviour tables and the
operator table.

A field that a row may lack is UNSET where it does, which is false.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from conformance.api.availability import Availability
from conformance.api.verdicts import Verdict
from conformance.contract import Level
from conformance.operators.table import Outcome
from conformance.report.parts import ClosedPart, Part
from conformance.run.plan import LEFT_OUT

Number = int | float
#: Zero or more.
Amount = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Fingerprint = Annotated[str, Meta(pattern="^[0-9a-f]{12}$")]
CountFromOne = Annotated[int, Meta(ge=1)]
OutcomeCounts = Annotated[
    dict[Outcome, CountFromOne], Meta(extra_json_schema={"propertyNames": {"$ref": "#/$defs/operator_outcome"}})
]
#: What is wrong with an :class:`AxisTable` that is none.
NO_TRIANGLE = "values, counts and pairs have other lengths than they must, or a value stands there twice"
#: A step of a behaviour → what came of it.
Steps = dict[str, str]


class ClauseRow(Part, frozen=True, kw_only=True):
    """A clause, as a report states it."""

    id: Annotated[str, Meta(description="its stable name")]
    suite: Annotated[str, Meta(description="the suite that it stands in")]
    level: Annotated[Level, Meta(description="the level that asks for it; reported ones are not graded")]
    statement: Annotated[str, Meta(description="what must hold")]
    source: Annotated[str, Meta(description="where PyTorch says so")]


class Behaviour(ClosedPart, frozen=True, kw_only=True):
    """What should happen in a state of availability, and what did."""

    expected: Annotated[Steps, Meta(description='what was asked → what should happen ("ok or refused": either)')]
    observed: Annotated[Steps, Meta(description="what was asked → what happened")]


class HostBehaviour(ClosedPart, frozen=True, kw_only=True):
    """A row of the behaviour table of the host."""

    cell: Annotated[str, Meta(description="the cell that observed it")]
    host: Annotated[Availability, Meta(description="the state of the host")]
    runtime: Annotated[str, Meta(description="full or lite")]
    verdict: Annotated[Verdict, Meta(description="what the cell came to")]
    expected: Annotated[Steps, Meta(description='what was asked → what should happen ("ok or refused": either)')]
    observed: Annotated[Steps, Meta(description="what was asked → what happened")]


class TargetBehaviour(HostBehaviour, frozen=True, kw_only=True):
    """A row of the behaviour table of the target."""

    target: Annotated[Availability, Meta(description="the state of the target")]


class Attempt(Part, frozen=True, kw_only=True):
    """One of several runs of a cell."""

    verdict: Verdict
    phase: Annotated[str, Meta(description="what it was doing when it failed")]
    message: Annotated[str, Meta(description="why, in a line")]


class Expectation(Part, frozen=True, kw_only=True):
    """An entry of a file of expectations, and what was found. Its other fields are those of the entry."""

    reason: Annotated[str, Meta(description="why the failure is known")] | UnsetType = UNSET
    issue: Annotated[str, Meta(description="where it is followed")] | UnsetType = UNSET
    owner: Annotated[Any, Meta(description="who follows it")] | UnsetType = UNSET
    since: Annotated[Any, Meta(description="the day from which it is known")] | UnsetType = UNSET
    expires: Annotated[Any, Meta(description="the day after which it is known no more")] | UnsetType = UNSET
    issue_url: Annotated[str, Meta(description="the address of that")] | UnsetType = UNSET
    number: Annotated[CountFromOne, Meta(description="the place of the entry in its file, from 1")] | UnsetType = UNSET
    found: Verdict | UnsetType = UNSET
    tolerated: (
        Annotated[bool, Meta(description="the cell does not fail the run, although it was not as recorded")] | UnsetType
    ) = UNSET


class Reproducer(ClosedPart, frozen=True, kw_only=True):
    """A script that shows a failure."""

    script: Annotated[
        str,
        Meta(
            pattern=r"^reproducers/[A-Za-z0-9._-]+/reproduce\.py$",
            description="the script, below the folder of report.json",
        ),
    ]


class AxisTable(Part, frozen=True, kw_only=True):
    """How often each value of each axis, and each pair of two, met the backend."""

    values: Annotated[list[str], Meta(description="axis=value, each once")]
    counts: Annotated[list[Count], Meta(description="for each of values: how many of what was tried had it")]
    pairs: Annotated[
        list[list[Count]],
        Meta(description="for each of values a list, which has for each value before it how many had both"),
    ]

    @property
    def is_a_triangle(self) -> bool:
        """Whether the lists have the lengths that they must have, and each value stands there once."""
        one_length = len(self.values) == len(set(self.values)) == len(self.counts) == len(self.pairs)
        return one_length and all(len(row) == place for place, row in enumerate(self.pairs))


class Finding(Part, frozen=True, kw_only=True):
    """What generated programs with one cause showed, by the smallest of them."""

    cause: Annotated[str, Meta(description="operators / axes / observable: programs that share it are one finding")]
    operators: Annotated[list[str], Meta(description="the operators that the smallest program has")]
    axes: Annotated[list[str], Meta(description="axis=value: what is not ordinary about it")]
    observable: Annotated[
        str,
        Meta(
            description="what was otherwise than in eager PyTorch: values, dtype, shape, strides, aliases, writes, "
            "requires_grad, gradients, error, random state, process state, memory, crash, hang, refusal"
        ),
    ]
    count: Annotated[CountFromOne, Meta(description="how many programs showed it")]
    phase: Annotated[str, Meta(description="the verb in which it showed")]
    verdict: Verdict
    message: Annotated[str, Meta(description="what differed")]
    source: Annotated[str, Meta(description="the smallest program, as the source of a module")]
    inputs: Annotated[
        list[str],
        Meta(description="what is done with it, in order, with dtype, shape, layout and more of each input"),
    ]
    fingerprint: Annotated[Fingerprint, Meta(description="what stays the same when it is found again")] | UnsetType = (
        UNSET
    )
    after: (
        Annotated[
            CountFromOne, Meta(description="how many other programs must run before it in the same process, if any")
        ]
        | UnsetType
    ) = UNSET


class Generated(AxisTable, frozen=True, kw_only=True):
    """What a generated cell tried and found."""

    seed: Annotated[int, Meta(description="its own seed, which comes of the run's, its clause and its theme")]
    tried: Annotated[Count, Meta(description="how many programs or scenarios judged the backend")]
    discarded: Annotated[
        dict[str, Count], Meta(description="why others judged nobody, such as invalid or unstable → how many")
    ]
    refused: Annotated[
        dict[str, Count], Meta(description="what the backend refused as it may → how many programs had it")
    ]
    seconds: Annotated[Amount, Meta(description="how long it took, by the wall clock")]
    findings: Annotated[list[Finding], Meta(description="what was otherwise than in eager PyTorch, by cause")]
    interrupted: (
        Annotated[bool, Meta(description="whether the user ended it before it had tried what it might")] | UnsetType
    ) = UNSET


class CellRow(Part, frozen=True, kw_only=True):
    """A cell, and what it came to."""

    id: Annotated[str, Meta(description="clause[case-runtime-host-target]")]
    clause: Annotated[str, Meta(description="the clause that was tried")]
    suite: Annotated[str, Meta(description="the suite that it stands in")]
    level: Annotated[Level, Meta(description="the level that asks for the clause")]
    case: Annotated[
        str, Meta(description="the model of the corpus, the operator, or the theme of what the cell generates")
    ]
    runtime: Annotated[str, Meta(description="full for the full JIT, lite for the lite interpreter")]
    host: Annotated[Availability, Meta(description="the state of the host")]
    target: Annotated[
        Availability | None, Meta(description="the state of the target; null where only the host takes part")
    ]
    verdict: Verdict
    phase: Annotated[
        str, Meta(description="the verb in which it failed: lower, save, load, run, probe, ...; empty if it did not")
    ]
    message: Annotated[str, Meta(description="why, in a line")]
    seconds: Annotated[dict[str, Number], Meta(description="verb → how long it took")]
    fingerprint: (
        Annotated[
            str,
            Meta(
                pattern="^[0-9a-f]{12}$",
                description="of a failing cell: what stays the same when the failure happens again; "
                "of a flaky one, that of its first attempt",
            ),
        ]
        | UnsetType
    ) = UNSET
    error: (
        Annotated[dict[str, Any], Meta(description="what a failure left behind: type, text, stack, output, signal")]
        | UnsetType
    ) = UNSET
    peak_bytes: (
        Annotated[Count, Meta(description="the most memory that a target which measures it had resident")] | UnsetType
    ) = UNSET
    repeated: (
        Annotated[CountFromOne, Meta(description="how often a failing cell was run again and failed in the same way")]
        | UnsetType
    ) = UNSET
    attempts: (
        Annotated[
            list[Attempt],
            Meta(min_length=2, description="of a flaky cell: what each attempt came to, in their order"),
        ]
        | UnsetType
    ) = UNSET
    notes: Annotated[list[str], Meta(description="remarks of the clause, which are no fault")] | UnsetType = UNSET
    behaviour: Annotated[Behaviour, Meta(description="the cell's row of the tables in availability")] | UnsetType = (
        UNSET
    )
    margin: (
        Annotated[
            dict[str, Any],
            Meta(description="how much of the tolerance the comparisons used up at most, and where"),
        ]
        | UnsetType
    ) = UNSET
    generated: (
        Annotated[Generated, Meta(description="of a cell of generated programs: what was tried and found")] | UnsetType
    ) = UNSET
    expectation: (
        Annotated[
            Expectation,
            Meta(description="the entry that spoke of the cell, with the verdict and the message that were found"),
        ]
        | UnsetType
    ) = UNSET
    reproducer: (
        Annotated[
            Reproducer,
            Meta(
                description="A script that shows the failure without the harness; its path is relative to report.json."
            ),
        ]
        | UnsetType
    ) = UNSET

    @property
    def fails(self) -> bool:
        """Whether a run with such a cell cannot succeed: its verdict fails, and is not tolerated."""
        tolerated = isinstance(self.expectation, Expectation) and self.expectation.tolerated is True
        return self.verdict.fails and not tolerated

    @property
    def is_left_out(self) -> bool:
        """Whether the run did not begin it, since its time was over."""
        return self.verdict is Verdict.LOST and self.message == LEFT_OUT


class OperatorRow(Part, frozen=True, kw_only=True):
    """What an operator came to in a dtype."""

    operator: Annotated[str, Meta(description="the name in OpInfo, with its variant")]
    dtype: Annotated[str, Meta(description="the dtype of the samples, such as float32")]
    outcome: Outcome
    samples: Annotated[CountFromOne, Meta(description="how many samples were tried")]
    counts: Annotated[
        OutcomeCounts,
        Meta(description="outcome: how many samples came to it; the row's outcome is the gravest"),
    ]
    max_abs: Annotated[
        Amount | None,
        Meta(description="the largest absolute error; null where nothing was compared or the error is infinite"),
    ]
    max_rel: Annotated[
        Amount | None,
        Meta(description="the largest relative error, where the expected value is not zero; null as above"),
    ]
    ulp: Annotated[
        Amount | None,
        Meta(description="the largest error in units in the last place, floating point and complex; null as above"),
    ]
    sqnr_db: Annotated[
        Number | None,
        Meta(
            description="the smallest ratio of signal to error, in decibels; null where nothing was compared, "
            "or there is no error, or no signal"
        ),
    ]
    delegated: (
        Annotated[
            Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)],
            Meta(
                description="of the operators that eager PyTorch executes for a sample's operator, the share that it "
                "no longer executes with the backend, on average; only where the toolchain measures it, and PyTorch "
                "executes any that compute"
            ),
        ]
        | UnsetType
    ) = UNSET
    message: Annotated[str, Meta(description="what was said of the gravest sample")]


class OperatorTable(Part, frozen=True, kw_only=True):
    """The operator table."""

    summary: Annotated[OutcomeCounts, Meta(description="outcome: how many operators in a dtype came to it")]
    samples: Annotated[Count, Meta(description="how many samples were tried in all")]
    rows: Annotated[list[OperatorRow], Meta(description="one for each operator and dtype")]
