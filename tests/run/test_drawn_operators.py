"""Cells of operators that are drawn: which are, what is noted of them, and what a cell comes to."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from support.project import Project

from conformance.api.errors import ConformanceFailure, DeviceDied, SubjectError
from conformance.api.verdicts import NotExercised
from conformance.generate.budget import Budget
from conformance.operators.table import Outcome, Tried
from conformance.operators.together import Draw, Drawn
from conformance.run.operators import _drawn, try_operators
from conformance.run.result import Record

OPERATORS = {name: ["float32", "int64"] for name in ("add", "exp", "sum", "tanh")}
SAMPLE = {"call": "add(float32[2], float32[2])", "values": ["layout=offset", "value=ordinary"], "shapes": [[2], [0]]}
#: A backend of torch.compile to which 64 bits are as good as 32, and which fails at one operator.
NARROW = """
    import torch

    def compiler(graph, example_inputs, **keywords):
        targets = {node.target for node in graph.graph.nodes}
        if torch.exp in targets:
            raise NotImplementedError("torch.exp is not supported")

        def code(*arguments):
            results = graph.forward(*arguments)
            return tuple(each.float().double() if each.dtype == torch.float64 else each for each in results)

        return code
"""


class Trial:
    """Stands for the processes in which operators are tried: each sample comes to what ``outcomes`` say in turns."""

    def __init__(self, *outcomes: Tried) -> None:
        self._outcomes = itertools.cycle(outcomes)
        self.asked: list[Draw] = []
        self.modes: tuple[str, ...] = ()

    def themes(self) -> dict[str, Any]:
        if self.failure is not None:
            raise self.failure
        return {"pointwise": OPERATORS}

    failure: SubjectError | None = None

    def varied(self, draws: Iterable[Draw], *, modes: Sequence[str]) -> Iterator[Drawn]:
        self.modes = tuple(modes)
        for draw in draws:
            self.asked.append(draw)
            for _ in range(draw.count):
                yield Drawn((draw.operator,), draw.dtype, SAMPLE, next(self._outcomes))


@dataclasses.dataclass
class Context:
    """What a clause asks of the context of its cell."""

    operators: Trial
    seed: int = 0
    budget: Budget = dataclasses.field(default_factory=lambda: Budget(10))
    toolchain: str = "dynamo"
    cells_that_share: int = 1
    record: Record = dataclasses.field(default_factory=Record)

    def __post_init__(self) -> None:
        self.cell = self.clause = self.backend = self.ledger = self
        self.theme, self.id, self.phase = "pointwise", "some.operators", ""

    def has(self, feature: object) -> bool:
        return True


def tried(context: Context) -> dict[str, Any]:
    """What the cell noted, whatever it came to."""
    with contextlib.suppress(AssertionError):
        try_operators(context)  # type: ignore[arg-type]
    assert context.record.generated is not None
    return context.record.generated


def test_a_seed_says_what_is_drawn_and_all_is_drawn_before_anything_is_again() -> None:
    first = list(itertools.islice(_drawn(OPERATORS, 1), 20))
    assert first == list(itertools.islice(_drawn(OPERATORS, 1), 20))
    assert first != list(itertools.islice(_drawn(OPERATORS, 2), 20))
    # all of them are common: once, then in turns with themselves
    for each in (first[:4], first[4:12:2], first[5:12:2], first[12::2], first[13::2]):
        assert {draw.operator for draw in each} == set(OPERATORS)
    assert {draw.dtype for draw in first} == {"float32", "int64"}
    assert len({draw.seed for draw in first}) == 20


def test_common_operators_are_drawn_first_and_oftener_and_mostly_in_float32() -> None:
    operators = {
        name: ["float32", "int64", "float16", "bool", "complex64"] for name in ("add", "zeta", "mul", "aminmax")
    }
    drawn = [list(itertools.islice(_drawn(operators, seed), 10)) for seed in range(40)]
    for each in drawn:
        names = [draw.operator for draw in each]
        assert set(names[:2]) == set(names[3:6:2]) == set(names[7::2]) == {"add", "mul"}
        assert set(names[2::2]) == set(operators)
        assert [draw.count for draw in each] == [1, 1, *[3] * 8]
    dtypes = [draw.dtype for each in drawn for draw in each]
    assert 0.4 < dtypes.count("float32") / len(dtypes) < 0.65
    assert set(dtypes) == set(operators["add"])


def test_where_none_is_common_all_are_drawn_in_turns() -> None:
    drawn = list(itertools.islice(_drawn({"zeta": ["float32"], "eta": ["float32"]}, 1), 4))
    assert {draw.operator for draw in drawn[:2]} == {draw.operator for draw in drawn[2:]} == {"zeta", "eta"}
    assert list(_drawn({}, 1)) == []


def test_a_cell_tries_as_many_as_its_budget_says_and_notes_them() -> None:
    context = Context(Trial(Tried(Outcome.RIGHT)))
    row = tried(context)
    assert (row["tried"], row["findings"], row["discarded"], row["refused"]) == (10, [], {}, {})
    counts = dict(zip(row["values"], row["counts"], strict=True))
    assert counts["layout=offset"] == counts["size=empty"] == 10
    assert sum(count for value, count in counts.items() if value.startswith("operator=")) == 10
    assert [len(each) for each in row["pairs"]] == list(range(len(row["values"])))
    assert set(context.operators.modes) == {"inference", "backward"}
    assert once("torchscript").operators.modes == ("inference",)
    assert context.record.notes == ["4 of the 4 operators of pointwise were tried."]


def once(toolchain: str) -> Context:
    """A context in which a cell was tried."""
    context = Context(Trial(Tried(Outcome.RIGHT)), toolchain=toolchain)
    tried(context)
    return context


def test_findings_are_grouped_and_the_gravest_is_what_the_cell_comes_to() -> None:
    wrong = Tried(Outcome.WRONG, "2 is 3", observable="values", phase="run")
    context = Context(Trial(wrong, Tried(Outcome.RIGHT)))
    with pytest.raises(ConformanceFailure) as caught:
        try_operators(context)  # type: ignore[arg-type]
    row = tried(context)
    assert {each["cause"] for each in row["findings"]} <= {f"{name} / values" for name in OPERATORS}
    assert sum(each["count"] for each in row["findings"]) == 5
    assert all(each["cause"] in str(caught.value) for each in row["findings"])
    assert all({"layout=offset", "size=empty"} <= set(each["axes"]) for each in row["findings"])
    died = DeviceDied("run", status=-11)
    dead = Tried(Outcome.CRASHED, "SIGSEGV", observable="crash", phase="run", ended=died)
    with pytest.raises(DeviceDied):
        try_operators(Context(Trial(wrong, dead)))  # type: ignore[arg-type]


def test_what_judges_nobody_is_counted_apart() -> None:
    outcomes = [
        Tried(Outcome.RIGHT),
        Tried(Outcome.REFUSED, "lower: RuntimeError: aten::add"),
        *(Tried(Outcome.NOT_APPLICABLE, why) for why in ("not valid: x", "unstable: x", "declared missing: x", "x")),
    ]
    row = tried(Context(Trial(*outcomes), budget=Budget(5)))
    assert row["tried"] == 5
    assert set(row["discarded"]) == {"invalid", "unstable", "declared missing", "PyTorch's"}
    assert sum(row["refused"].values()) == 4


def test_where_nothing_can_be_tried_the_cell_ends_and_says_so() -> None:
    with pytest.raises(NotExercised, match="declared missing"):
        try_operators(Context(Trial(Tried(Outcome.NOT_APPLICABLE, "declared missing: x"))))  # type: ignore[arg-type]
    try_operators(Context(Trial(Tried(Outcome.REFUSED, "aten::add"))))  # type: ignore[arg-type]
    trial = Trial(Tried(Outcome.RIGHT))
    trial.failure = SubjectError("probe", "ModuleNotFoundError", (), "No module named 'expecttest'")
    with pytest.raises(NotExercised, match="pip install"):
        try_operators(Context(trial))  # type: ignore[arg-type]


def test_a_backend_that_rounds_is_found_and_what_it_refuses_is_not(project: Project) -> None:
    project.install("narrow", NARROW, "compiler", group="torch_dynamo_backends")
    run = project.run("--backend=narrow", "-k", "drawn and pointwise", "--conformance-generated=60", "-n", "0")
    (row,) = [row for row in run.report("narrow")["cells"] if "generated" in row]
    assert run.exit_code == 1, run.output
    assert (row["id"], row["verdict"]) == ("compile.operators.correct[pointwise-compile-yes/yes]", "FAIL")
    assert row["generated"]["tried"] == 60
    assert {each["observable"] for each in row["generated"]["findings"]} == {"values"}
    assert any("float64" in each["message"] for each in row["generated"]["findings"])


def test_what_a_backend_leaves_to_pytorch_is_counted_and_ends_a_cell_that_meets_little_else() -> None:
    left, right = Tried(Outcome.NOT_APPLICABLE, "not taken: all of it"), Tried(Outcome.RIGHT)
    nothing = Context(Trial(left))
    with pytest.raises(NotExercised, match="not taken"):
        try_operators(nothing)  # type: ignore[arg-type]
    assert nothing.record.generated is not None
    assert nothing.record.generated["discarded"] == {"not taken": 12}  # each operator thrice
    # three that are left make up for one that is tried
    row = tried(Context(Trial(right, left, left, left)))
    assert (row["tried"], row["discarded"]) == (8, {"not taken": 22})
